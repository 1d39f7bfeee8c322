//! The user under whose identity a process works.

use std::ffi::{CStr, CString, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Maximum supplementary groups of a user (the kernel's limit).
const MOST_GROUPS: libc::c_int = 65_536;

/// A user of this system, with everything that decides what they may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Name.
    pub name: String,
    /// User.
    pub uid: u32,
    /// Main group.
    pub gid: u32,
    /// All groups, the main one included.
    pub groups: Vec<u32>,
    /// Home directory.
    pub home: PathBuf,
}

impl Identity {
    /// Looks up a user by name; `None` when there is no such user.
    pub fn of(name: &str) -> Option<Self> {
        let text = CString::new(name).ok()?;
        // Long enough for any entry: names, a home and a shell.
        let mut texts = vec![0; 16 << 10];
        let mut entry = MaybeUninit::<libc::passwd>::uninit();
        let mut found = std::ptr::null_mut();
        // SAFETY: `text` ends with a zero byte, `texts` has the given length, and both places outlive the call.
        let failed = unsafe {
            libc::getpwnam_r(text.as_ptr(), entry.as_mut_ptr(), texts.as_mut_ptr(), texts.len(), &raw mut found)
        };
        if failed != 0 || found.is_null() {
            return None;
        }
        // SAFETY: the entry was found, so it is filled; its texts are in `texts`.
        let (uid, gid, home) = unsafe {
            let entry = entry.assume_init();
            let home = OsString::from_vec(CStr::from_ptr(entry.pw_dir).to_bytes().to_vec());
            (entry.pw_uid, entry.pw_gid, PathBuf::from(home))
        };
        let mut groups = vec![0; 64];
        loop {
            let mut count = libc::c_int::try_from(groups.len()).ok().filter(|count| *count <= MOST_GROUPS)?;
            // SAFETY: the list has as many elements as `count` says.
            let fits = unsafe { libc::getgrouplist(text.as_ptr(), gid, groups.as_mut_ptr(), &raw mut count) };
            if fits >= 0 {
                groups.truncate(usize::try_from(count).ok()?);
                return Some(Self { name: name.to_owned(), uid, gid, groups, home });
            }
            groups.resize(groups.len() * 4, 0);
        }
    }

    /// Makes this process one of the user's, for good: no right of the present user is left.
    ///
    /// # Errors
    /// Returns an error if the system refuses it. The process is then good for nothing but to end.
    pub fn take(&self) -> io::Result<()> {
        let done = |result: libc::c_int| if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
        // SAFETY: numbers, and a list with the given length. The C library changes all threads.
        unsafe {
            done(libc::setgroups(self.groups.len(), self.groups.as_ptr()))?;
            done(libc::setresgid(self.gid, self.gid, self.gid))?;
            done(libc::setresuid(self.uid, self.uid, self.uid))?;
        }
        // The way back must be closed.
        // SAFETY: a number.
        match self.uid != 0 && unsafe { libc::setresuid(0, 0, 0) } == 0 {
            true => Err(io::Error::other("the former user can be taken back")),
            false => Ok(()),
        }
    }
}

impl Identity {
    /// Makes the files that this thread opens from here on, and the threads that it starts, those of the user: the kernel
    /// checks the user's rights, and new files are the user's. Root's other rights stay. Programs that are started have
    /// root's files again.
    ///
    /// # Errors
    /// Returns an error if the system refuses it.
    pub fn take_files(&self) -> io::Result<()> {
        // SAFETY: a list with the given length.
        if unsafe { libc::setgroups(self.groups.len(), self.groups.as_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        set_files_of(self.uid, self.gid);
        match files_are_of() == self.uid {
            true => Ok(()),
            false => Err(io::Error::other("the system keeps the former user's files")),
        }
    }
}

impl Identity {
    /// Does a work with the user's rights to files, if this process is root's, and takes root's back. Call it while there
    /// is one thread.
    ///
    /// # Errors
    /// Returns an error if the system refuses it: the work is not done, or this process is good for nothing but to end.
    pub fn with_files<T>(&self, work: impl FnOnce() -> T) -> io::Result<T> {
        let groups = rustix::process::getgroups()?;
        let groups: Vec<u32> = groups.into_iter().map(rustix::process::Gid::as_raw).collect();
        // SAFETY: as above.
        let (user, group) = (files_are_of(), unsafe { libc::setfsgid(u32::MAX).cast_unsigned() });
        self.take_files()?;
        let done = work();
        set_files_of(user, group);
        // SAFETY: a list with the given length.
        match unsafe { libc::setgroups(groups.len(), groups.as_ptr()) } {
            0 => Ok(done),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

fn set_files_of(uid: u32, gid: u32) {
    // SAFETY: numbers. Both return the former ones, whether or not they succeed.
    unsafe {
        libc::setfsgid(gid);
        libc::setfsuid(uid);
    }
}

fn files_are_of() -> u32 {
    // SAFETY: no user has this number, which changes nothing.
    unsafe { libc::setfsuid(u32::MAX).cast_unsigned() }
}

/// Does a work with root's rights to files, if this process is root's: opening devices and reading `/proc`, where no user
/// chooses what is written.
pub fn with_roots_files<T>(work: impl FnOnce() -> T) -> T {
    struct Back(u32, u32);
    impl Drop for Back {
        fn drop(&mut self) {
            set_files_of(self.0, self.1);
        }
    }
    if !rustix::process::geteuid().is_root() {
        return work();
    }
    // SAFETY: as above.
    let group = unsafe { libc::setfsgid(u32::MAX).cast_unsigned() };
    let _back = Back(files_are_of(), group);
    set_files_of(0, 0);
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_known_with_groups_and_home() {
        let root = Identity::of("root").expect("every system has it");
        assert_eq!((root.uid, root.gid), (0, 0));
        assert!(root.groups.contains(&0), "{root:?}");
        assert!(root.home.is_absolute(), "{root:?}");
    }

    #[test]
    fn nobody_else_is_made_up() {
        assert_eq!(Identity::of("no such user"), None);
        assert_eq!(Identity::of("zero\0byte"), None);
    }
}
