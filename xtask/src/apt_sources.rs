//! apt's sources: reads the system's own, and derives one for a further component or for other releases.
//!
//! Debian keeps iozone in the component `non-free`, Ubuntu in `multiverse`, which most machines do not have enabled.
//! This module does not name a mirror and does not change the system. It copies the distribution's own stanza with
//! another component, so the user's mirror, keys and options stay valid. Pure functions, no I/O.

use std::collections::BTreeMap;

/// The fields of `/etc/os-release` that are relevant for sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Distribution {
    /// `debian`, `ubuntu`, ...
    pub(crate) id: String,
    /// Release names under which the archive may be listed: the distribution's own and those of its parent
    /// distribution.
    pub(crate) code_names: Vec<String>,
    /// The component with software that may be redistributed but is not free.
    pub(crate) non_free_component: &'static str,
}

/// Reads `/etc/os-release`; returns `None` unless it is a relative of Debian with a release name.
pub(crate) fn distribution(os_release: &str) -> Option<Distribution> {
    let fields: BTreeMap<&str, &str> = os_release
        .lines()
        .filter_map(|line| line.trim().split_once('='))
        .map(|(name, value)| (name, value.trim_matches(['"', '\''])))
        .collect();
    let id = *fields.get("ID")?;
    let relatives = fields.get("ID_LIKE").copied().unwrap_or("");
    let related = |name: &str| id == name || relatives.split_whitespace().any(|relative| relative == name);
    let non_free_component = match () {
        () if related("ubuntu") => "multiverse",
        () if related("debian") => "non-free",
        () => return None,
    };
    let code_names: Vec<String> = ["VERSION_CODENAME", "UBUNTU_CODENAME", "DEBIAN_CODENAME"]
        .iter()
        .filter_map(|field| fields.get(field))
        .filter(|name| !name.is_empty())
        .map(|name| (*name).to_owned())
        .collect();
    (!code_names.is_empty()).then(|| Distribution { id: id.to_owned(), code_names, non_free_component })
}

/// A `deb822` stanza: fields in their order, continuation lines inside the value.
type Stanza = Vec<(String, String)>;

/// Derives the sources of one component from the system's own, in `deb822` format.
///
/// `files` are the system's source files by name. As in apt, the suffix decides on the format: `.sources` is `deb822`,
/// everything else is one entry per line. Only enabled entries of binary packages count that list the component `main`
/// of a suite with one of the distribution's release names. This excludes third parties, whose suites have other names.
/// Returns `None` when there is no such entry.
pub(crate) fn derive(files: &[(String, String)], distribution: &Distribution) -> Option<String> {
    derive_with(files, distribution, None, distribution.non_free_component)
}

/// Does the same for other releases of the distribution: their component `main`, from the mirror that the system uses.
pub(crate) fn derive_releases(
    files: &[(String, String)],
    distribution: &Distribution,
    releases: &[&str],
) -> Option<String> {
    derive_with(files, distribution, Some(releases), "main")
}

fn derive_with(
    files: &[(String, String)],
    distribution: &Distribution,
    releases: Option<&[&str]>,
    component: &str,
) -> Option<String> {
    let mut derived = Vec::new();
    for (name, text) in files {
        let stanzas = if name.ends_with(".sources") { deb822_stanzas(text) } else { one_line_stanzas(text) };
        for stanza in stanzas.iter().filter_map(|stanza| with(stanza, distribution, releases, component)) {
            let text: String = stanza.iter().map(|(field, value)| format!("{field}: {value}\n")).collect();
            if !derived.contains(&text) {
                derived.push(text);
            }
        }
    }
    (!derived.is_empty()).then(|| derived.join("\n"))
}

fn field<'a>(stanza: &'a Stanza, name: &str) -> Option<&'a str> {
    stanza.iter().find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

/// Returns the same stanza for another component, and for other releases if given. Returns `None` when the stanza is
/// not the distribution's own.
fn with(stanza: &Stanza, distribution: &Distribution, releases: Option<&[&str]>, component: &str) -> Option<Stanza> {
    let words = |name: &str| field(stanza, name).unwrap_or("").split_whitespace();
    let enabled = !field(stanza, "Enabled").is_some_and(|value| {
        matches!(value.trim().to_ascii_lowercase().as_str(), "no" | "false" | "without" | "off" | "disable" | "0")
    });
    let suites: Vec<&str> =
        words("Suites").filter(|suite| distribution.code_names.iter().any(|name| name == suite)).collect();
    if !enabled
        || suites.is_empty()
        || !words("Types").any(|kind| kind == "deb")
        || !words("Components").any(|component| component == "main")
        || words("URIs").any(|uri| uri.starts_with("cdrom:"))
    {
        return None;
    }
    let replaced = |name: &str, value: &str| match name.to_ascii_lowercase().as_str() {
        "types" => "deb".to_owned(),
        "suites" => releases.unwrap_or(&suites).join(" "),
        "components" => component.to_owned(),
        _ => value.to_owned(),
    };
    Some(stanza.iter().map(|(name, value)| (name.clone(), replaced(name, value))).collect())
}

/// Splits a `deb822` file. A line that starts with `#` is a comment at any place.
fn deb822_stanzas(text: &str) -> Vec<Stanza> {
    let mut stanzas = vec![Stanza::new()];
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some(stanza) = stanzas.last_mut() else { continue };
        if line.trim().is_empty() {
            stanzas.push(Stanza::new());
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = stanza.last_mut() {
                value.push('\n');
                value.push_str(line);
            }
        } else if let Some((name, value)) = line.split_once(':') {
            stanza.push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
    stanzas.retain(|stanza| !stanza.is_empty());
    stanzas
}

/// Turns `deb [options] uri suite component...` lines into stanzas, see sources.list(5).
fn one_line_stanzas(text: &str) -> Vec<Stanza> {
    text.lines().filter_map(one_line_stanza).collect()
}

fn one_line_stanza(line: &str) -> Option<Stanza> {
    let line = line.split('#').next()?.trim();
    let (kind, rest) = line.split_once(char::is_whitespace)?;
    let rest = rest.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let mut words = rest.split_whitespace();
    let mut stanza = vec![
        ("Types".to_owned(), kind.to_owned()),
        ("URIs".to_owned(), words.next()?.to_owned()),
        ("Suites".to_owned(), words.next()?.to_owned()),
        ("Components".to_owned(), words.collect::<Vec<_>>().join(" ")),
    ];
    for option in options.split_whitespace() {
        let (name, value) = option.split_once('=')?;
        stanza.push((deb822_name(name), value.replace(',', " ")));
    }
    Some(stanza)
}

/// Returns the field of a one-line option: three have a short name, the rest differ only in case.
fn deb822_name(option: &str) -> String {
    let (option, suffix) = match (option.strip_suffix('+'), option.strip_suffix('-')) {
        (Some(option), _) => (option, "-Add"),
        (_, Some(option)) => (option, "-Remove"),
        _ => (option, ""),
    };
    let name = match option {
        "arch" => "Architectures",
        "lang" => "Languages",
        "target" => "Targets",
        other => other,
    };
    format!("{name}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOKWORM: &str = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_CODENAME=bookworm\nID=debian\n";

    fn debian() -> Distribution {
        distribution(BOOKWORM).expect("Debian")
    }

    #[test]
    fn the_distribution_gives_the_component() {
        #[track_caller]
        fn check(os_release: &str, expected: Option<(&str, &[&str], &str)>) {
            let found = distribution(os_release);
            let found = found.as_ref().map(|found| {
                let names: Vec<&str> = found.code_names.iter().map(String::as_str).collect();
                (found.id.as_str(), names, found.non_free_component)
            });
            assert_eq!(found, expected.map(|(id, names, component)| (id, names.to_vec(), component)));
        }
        check(BOOKWORM, Some(("debian", &["bookworm"], "non-free")));
        check("ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n", Some(("ubuntu", &["noble"], "multiverse")));
        check(
            "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_CODENAME=wilma\nUBUNTU_CODENAME=noble\n",
            Some(("linuxmint", &["wilma", "noble"], "multiverse")),
        );
        check("ID=fedora\nVERSION_CODENAME=\"\"\n", None);
        check("ID=debian\nPRETTY_NAME=\"no release name\"\n", None);
        check("", None);
    }

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: Option<&str>) {
        let files: Vec<(String, String)> =
            files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        assert_eq!(derive(&files, &debian()).as_deref(), expected);
    }

    #[test]
    fn a_deb822_stanza_keeps_its_mirror_and_keys() {
        check(
            &[(
                "debian.sources",
                "Types: deb deb-src\n# a comment inside\nURIs: http://mirror.example/debian\n\
                 Suites: bookworm bookworm-updates\nComponents: main contrib\nSigned-By: /keys/archive.gpg\n\n\
                 Types: deb\nURIs: http://mirror.example/debian-security\nSuites: bookworm-security\n\
                 Components: main\nSigned-By: /keys/archive.gpg\n",
            )],
            Some(
                "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm\n\
                 Components: non-free\nSigned-By: /keys/archive.gpg\n",
            ),
        );
    }

    #[test]
    fn other_releases_come_from_the_same_mirror() {
        let files = [
            (
                "debian.sources".to_owned(),
                "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm bookworm-updates\n\
                 Components: main\nSigned-By: /keys/archive.gpg\n\n\
                 Types: deb\nURIs: http://mirror.example/debian-security\nSuites: bookworm-security\nComponents: main\n"
                    .to_owned(),
            ),
            ("third.list".to_owned(), "deb http://third.example/apt nodistro main\n".to_owned()),
        ];
        assert_eq!(
            derive_releases(&files, &debian(), &["bookworm", "trixie"]).as_deref(),
            Some(
                "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm trixie\n\
                 Components: main\nSigned-By: /keys/archive.gpg\n"
            )
        );
        assert_eq!(derive_releases(&files[1..], &debian(), &["trixie"]), None);
    }

    #[test]
    fn a_key_inside_the_stanza_is_kept_line_by_line() {
        let text = "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm\nComponents: main\n\
                    Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINBF\n";
        let expected = "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm\nComponents: non-free\n\
                        Signed-By: \n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINBF\n";
        check(&[("a.sources", text)], Some(expected));
    }

    #[test]
    fn one_line_entries_become_stanzas() {
        check(
            &[(
                "sources.list",
                "# deb http://commented.example/debian bookworm main\n\
                 deb [arch=amd64,arm64 signed-by=/keys/a.gpg] http://mirror.example/debian bookworm main # ours\n\
                 deb-src http://mirror.example/debian bookworm main\n\
                 deb http://mirror.example/debian bookworm-updates main\n",
            )],
            Some(
                "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm\nComponents: non-free\n\
                 Architectures: amd64 arm64\nsigned-by: /keys/a.gpg\n",
            ),
        );
        check(
            &[("sources.list", "deb [ arch-=i386 trusted=yes ] http://mirror.example/debian bookworm main\n")],
            Some(
                "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm\nComponents: non-free\n\
                 Architectures-Remove: i386\ntrusted: yes\n",
            ),
        );
    }

    #[test]
    fn both_formats_together_and_no_entry_twice() {
        let one_line = "deb http://mirror.example/debian bookworm main\n";
        let stanza = "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm\nComponents: main\n";
        let other = "Types: deb\nURIs: http://other.example/debian\nSuites: bookworm\nComponents: main\n";
        check(
            &[("sources.list", one_line), ("a.sources", stanza), ("b.sources", other)],
            Some(
                "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm\nComponents: non-free\n\n\
                 Types: deb\nURIs: http://other.example/debian\nSuites: bookworm\nComponents: non-free\n",
            ),
        );
    }

    #[test]
    fn entries_that_are_not_the_distributions_own_are_left_out() {
        for text in [
            "deb http://third.example/apt tool-bookworm main\n",
            "deb http://third.example/apt nodistro main\n",
            "deb http://third.example/docker bookworm stable\n",
            "deb http://third.example/exact ./\n",
            "deb cdrom:[Debian] bookworm main\n",
            "deb-src http://mirror.example/debian bookworm main\n",
            "deb [arch=amd64 http://unclosed.example bookworm main\n",
            "deb\n",
            "",
        ] {
            check(&[("a.list", text)], None);
        }
        check(
            &[(
                "a.sources",
                "Enabled: no\nTypes: deb\nURIs: http://mirror.example/debian\nSuites: bookworm\nComponents: main\n",
            )],
            None,
        );
        check(&[("a.sources", " continuation of nothing\nno colon\n\n\n#only\n")], None);
    }
}
