# SPDX-License-Identifier: GPL-2.0-or-later
#
# fresh-root.sh - makes roots of a Debian release with nothing installed, and runs commands in them.  Needs root,
# mmdebstrap and git.
#
# A root gets packages as this machine does: from its mirrors, by its apt configuration and its proxies.  It shares the
# machine's network, kernel and devices.  Processes and mounts in a root end with the command that is run in it.

# fresh_sources RELEASE: lines for apt with the mirrors of this machine, or nothing if it is not a Debian.
fresh_sources()
{
    # shellcheck disable=SC2016 # apt expands it
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
        sort -u | awk -v own="$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)" -v release="$1" '
            $2 == own || index($2, own "-") == 1 { print "deb", $1, release substr($2, length(own) + 1), $3 }'
}

# The variables by which programs find proxies and certificates, as NAME=VALUE, one a line.
fresh_variables()
{
    env | grep -E '^((http|https|no)_proxy|(HTTP|HTTPS|NO)_PROXY|SSL_CERT_FILE|CURL_CA_BUNDLE|PIP_[A-Z_]*)=[^ ]*$'
}

# fresh_bootstrap RELEASE TARGET: makes the folder or the archive TARGET, as mmdebstrap takes its name.
fresh_bootstrap()
{
    apt-config dump | grep -E '^Acquire::(Check-|https?::|([a-z]+::)?[Pp]roxy)' >"$2.apt"
    fresh_sources "$1" >"$2.list"
    fresh_list=$2.list
    # mmdebstrap's own mirrors
    [ -s "$fresh_list" ] || fresh_list=
    mmdebstrap --quiet --variant=minbase --aptopt="$2.apt" "$1" "$2" ${fresh_list:+"$fresh_list"}
}

# fresh_make RELEASE ROOT: makes the folder ROOT, for commands.
fresh_make()
{
    fresh_bootstrap "$1" "$2" || return 1
    # Services do not start: they would take the machine's ports.
    printf '#!/bin/sh\nexit 101\n' >"$2/usr/sbin/policy-rc.d" && chmod 755 "$2/usr/sbin/policy-rc.d" &&
        cp -L /etc/resolv.conf /etc/hosts "$2/etc/" || return 1
    # Certificates of this machine's own: those that a package installs later are added to them.
    mkdir -p "$2/usr/local/share/ca-certificates"
    find /usr/local/share/ca-certificates -name '*.crt' -exec cp -L {} "$2/usr/local/share/ca-certificates/" \; 2>/dev/null
    fresh_variables | while IFS= read -r fresh_variable; do
        fresh_file=${fresh_variable#*=}
        case $fresh_file in
        /*) [ ! -f "$fresh_file" ] || install -D -m 644 "$fresh_file" "$2$fresh_file" ;;
        esac
    done
}

# fresh_clone TREE ROOT FOLDER: a clone of the git tree TREE, with its changes that are not committed, as FOLDER in ROOT.
fresh_clone()
{
    # Its owner may be another user than root.
    git -c safe.directory="$1/.git" clone --quiet --no-hardlinks "$1" "$2$3" &&
        git -c safe.directory="$1" -C "$1" diff --binary HEAD >"$2/changes" &&
        { [ ! -s "$2/changes" ] || git -C "$2$3" apply "$2/changes"; } && rm "$2/changes"
}

# The first process in a root.  Words: the root, and the command.
fresh_first='
root=$1
shift
mount --bind "$root" "$root" && mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" &&
    mount --rbind /dev "$root/dev" && mount -t tmpfs -o mode=1777 shm "$root/dev/shm" && cd "$root" &&
    { [ -z "$FRESH_SHARED" ] || mount --bind "$FRESH_SHARED" "$root/mnt"; } &&
    pivot_root . . && umount -l . && cd / || exit 126
unset FRESH_SHARED
exec "$@"'

# fresh_exec ROOT SHARED COMMAND WORD...: this shell becomes the command, as root in ROOT, with the folder SHARED of this
# machine, if not empty, as /mnt.  The environment is that of a first login.  Whoever ends it ends all that it started.
fresh_exec()
{
    fresh_root=$1
    fresh_shared=$2
    shift 2
    # shellcheck disable=SC2046 # values without spaces
    exec env -i HOME=/root LANG=C.UTF-8 TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        FRESH_SHARED="$fresh_shared" $(fresh_variables) \
        unshare --mount --pid --fork --kill-child --propagation private sh -c "$fresh_first" sh "$fresh_root" "$@"
}
