# check.sh ROOT ARCHIVE PACKAGE MIRROR: makes a minimal Debian system in ROOT and tries both there. It runs in a mount
# namespace of its own. Prints a line `ok`, `skip` or `FAIL` per step.
set -u
root=$1 archive=$2 package=$3 mirror=$4
result=0

inside() { chroot "$root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"; }
step() {
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then echo "ok $name: $(printf '%s\n' "$output" | head -n 1)"
    else
        printf '%s\n' "$output" | tail -n 15 >&2
        echo "FAIL $name"
        result=1
    fi
}

if ! command -v debootstrap >/dev/null && ! apt-get install -y --no-install-recommends debootstrap >&2; then
    echo "skip all: debootstrap cannot be installed"
    exit 1
fi
debootstrap --variant=minbase --include=bash,libgcc-s1,man-db bookworm "$root" "$mirror" >&2 || { echo "FAIL debootstrap"; exit 1; }
mount --rbind /dev "$root/dev" && mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" || exit 1
cp /etc/resolv.conf "$root/etc/" 2>/dev/null
cp "$archive" "$package" "$root/root/"
shells=()
for shell in zsh fish; do
    if inside apt-get install -y --no-install-recommends "$shell" >&2 </dev/null; then shells+=("$shell")
    else echo "skip completions in $shell: it cannot be installed here"; fi
done

completions() {
    local where=$1 bash=$2 zsh=$3 fish=$4 shell
    step "$where: completions in bash" inside bash -c "source $bash; complete -p activebench"
    for shell in ${shells[@]+"${shells[@]}"}; do case $shell in
        zsh) step "$where: completions in zsh" inside zsh -fc "fpath=($(dirname "$zsh") \$fpath); autoload -U compinit; compinit -uD; [[ \$_comps[activebench] = _activebench ]] && autoload +X _activebench && echo \$_comps[activebench]" ;;
        fish) step "$where: completions in fish" inside fish -c "source $fish; complete -C 'activebench verify-b' | grep verify-bundle" ;;
    esac; done
}
observed() {
    # A discrepancy (1) is a verdict too: what counts is that the run was observed and judged.
    inside bash -c "mkdir -p /root/work; cd /root/work; $1 verify --out /root/runs/$2 -- dd if=/dev/zero of=file bs=1M count=64 conv=fsync 2>&1; code=\$?; rm -f file; echo exit code \$code >&2; grep -q '\"format\"' /root/runs/$2/run.json && case \$code in 0|1|3) exit 0;; *) exit 1;; esac"
}
doctor() { inside "$1" doctor /root >"$root/root/doctor.txt" 2>&1; code=$?; head -n 1 "$root/root/doctor.txt"; [ "$code" = 0 ]; }

step "deb: dpkg installs it" inside dpkg -i "/root/$(basename "$package")"
step "deb: --version" inside activebench --version
step "deb: man page" inside bash -c 'man -w activebench-verify && zcat "$(man -w activebench-verify)" | grep -q "SH NAME"'
completions deb /usr/share/bash-completion/completions/activebench /usr/share/zsh/vendor-completions/_activebench /usr/share/fish/vendor_completions.d/activebench.fish
step "deb: doctor" doctor activebench
step "deb: a run is observed" observed activebench deb
step "deb: dpkg removes it" inside dpkg -r activebench

step "tar: unpacks" inside bash -c "cd /opt && tar -xzf /root/$(basename "$archive") && ls"
folder=/opt/$(basename "$archive" .tar.gz)
step "tar: --version" inside "$folder/activebench" --version
step "tar: man page" inside bash -c "test -s $folder/man/man1/activebench-verify.1 && man -w -l $folder/man/man1/activebench-verify.1"
completions tar "$folder/completions/activebench.bash" "$folder/completions/_activebench" "$folder/completions/activebench.fish"
step "tar: doctor" doctor "$folder/activebench"
step "tar: a run is observed" observed "$folder/activebench" tar
exit "$result"
