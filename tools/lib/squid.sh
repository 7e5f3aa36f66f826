# SPDX-License-Identifier: GPL-2.0-or-later
#
# squid.sh - a Squid and an nginx of one's own, each in its folder and on loopback.  Needs say.sh, trust.sh.
#
# A server is started in the background and is stopped by its pid; servers_stop ends all that still run.

servers=

servers_stop()
{
    for server in $servers; do
        kill "$server" 2>/dev/null
    done
    for server in $servers; do
        wait "$server" 2>/dev/null
    done
    servers=
}

# stop PID: asks the process to end, and waits until it did.
stop()
{
    kill "$1" 2>/dev/null
    wait "$1" 2>/dev/null
    servers=$(for server in $servers; do [ "$server" = "$1" ] || echo "$server"; done)
}

# A port on loopback that nobody listens on.
free_port()
{
    port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 10000))
    while grep -q "^ *[0-9]*: [0-9A-F]*:$(printf %04X $port) [^ ]* 0A" /proc/net/tcp /proc/net/tcp6 2>/dev/null; do
        port=$((port + 1))
    done
    echo $port
}

# Whom Squid runs as, when root starts it.
squid_user()
{
    if id proxy >/dev/null 2>&1; then echo proxy; else echo nobody; fi
}

# own_folder DIR...: makes folders that Squid can write to.  What starts Squid must not write there: Squid's user could
# have it write elsewhere.
own_folder()
{
    mkdir -p -- "$@" || die_in_one_line "$*: cannot be made"
    give_squid "$@"
}

# own_file FILE...: makes files that Squid can write to, in folders that it cannot.
own_file()
{
    for owned; do
        [ -e "$owned" ] || : >"$owned" || die_in_one_line "$owned: cannot be made"
        give_squid "$owned"
    done
}

give_squid()
{
    [ "$(id -u)" -ne 0 ] || chown -h "$(squid_user)" -- "$@" || die_in_one_line "$*: cannot be given to $(squid_user)"
}

# squid_can_name WHAT FOLDER: dies if squid.conf cannot hold the name of FOLDER.
squid_can_name()
{
    case $2 in
    *[\\\"\#\'[:space:]]*)
        in_one_line "$2"
        die "$1: '$line' holds white space or one of \\\"#', so squid.conf cannot name it: choose another folder"
        ;;
    esac
}

# squid_configure FOLDER PREFIX PORT: writes FOLDER/squid.conf; more lines come from the standard input, and those with
# sqtrace_log go to FOLDER/sqtrace.conf.  Squid can write to its logs, FOLDER/cache and FOLDER/trace, but not to FOLDER.
squid_configure()
{
    own_folder "$1/cache" "$1/trace" "$2/var/run/squid"
    own_file "$1/cache.log" "$1/access.log"
    {
        cat <<END
http_port 127.0.0.1:$3
visible_hostname localhost
cache_effective_user $(squid_user)
pid_filename $1/squid.pid
cache_log $1/cache.log
coredump_dir $1
access_log stdio:$1/access.log
cache_store_log none
netdb_filename none
shutdown_lifetime 1 second
http_access allow all
END
        cat
    } >"$1/squid.lines" && grep -v '^sqtrace_log ' "$1/squid.lines" >"$1/squid.conf" &&
        sed -n '/^sqtrace_log /p' "$1/squid.lines" >"$1/sqtrace.conf" && rm "$1/squid.lines" &&
        chmod go-w "$1" "$1/sqtrace.conf" || die "$1/squid.conf: cannot be written"
}

# squid_begin FOLDER PREFIX: sets squid_pid.  Makes the cache_dirs if they are not there.  With squid_before, that command
# starts it.
squid_begin()
{
    "$2/sbin/squid" -n "sq$$" -f "$1/squid.conf" -z --foreground >>"$1/squid.out" 2>&1 </dev/null ||
        die_with_log "$1/cache.log" "squid -z failed"
    wc -l <"$1/cache.log" >"$1/made"
    ${squid_before-} "$2/sbin/squid" -n "sq$$" -f "$1/squid.conf" --foreground >>"$1/squid.out" 2>&1 </dev/null &
    squid_pid=$!
    servers="$servers $squid_pid"
}

# squid_wait FOLDER PID: until the Squid that squid_begin started there serves.
squid_wait()
{
    for _ in $(seq 300); do
        squid_said=$(tail -n +$(($(cat "$1/made") + 1)) "$1/cache.log")
        case $squid_said in
        *"Accepting HTTP Socket"*"Completed Validation"* | *"Completed Validation"*"Accepting HTTP Socket"*) return 0 ;;
        *"Accepting HTTP Socket"*) grep -q '^cache_dir' "$1/squid.conf" || return 0 ;;
        esac
        kill -0 "$2" 2>/dev/null || break
        sleep 0.1
    done
    die_with_log "$1/cache.log" "Squid did not start"
}

# take_trace FOLDER INTO: moves what the Squid of FOLDER has traced.  Its user may have put other things there.
take_trace()
{
    mkdir -p -- "$2"
    find "$1/trace" -maxdepth 1 -name '*.sqt' -type f -exec mv -t "$2" -- {} +
    [ "$(id -u)" -ne 0 ] || find "$2" -mindepth 1 -exec chown -h 0 {} +
    [ -n "$(find "$2" -name '*.sqt' -type f | head -n 1)" ] || die_with_log "$1/cache.log" "there is no trace"
}

squid_start()
{
    squid_begin "$1" "$2"
    squid_wait "$1" "$squid_pid"
}

# nginx_start FOLDER PORT: serves FOLDER/files; sets nginx_pid.  Names under /slow/ come at 400 KB/s.
nginx_start()
{
    mkdir -p -- "$1/files" "$1/temp"
    nginx=$(PATH=$PATH:/usr/sbin command -v nginx) || die "nginx is missing: apt-get install nginx-light"
    [ "$(id -u)" -ne 0 ] || nginx_user="user root;"
    cat >"$1/nginx.conf" <<END
daemon off;
${nginx_user-}
worker_processes 1;
pid $1/nginx.pid;
error_log $1/error.log warn;
events { worker_connections 1024; }
http {
    access_log off;
    client_body_temp_path $1/temp; proxy_temp_path $1/temp; fastcgi_temp_path $1/temp;
    uwsgi_temp_path $1/temp; scgi_temp_path $1/temp;
    server {
        listen 127.0.0.1:$2;
        root $1/files;
        location / { add_header Cache-Control "max-age=86400"; }
        location /slow/ { alias $1/files/; limit_rate 400k; add_header Cache-Control "no-store"; }
        location /unique/ { rewrite ^/unique/[^/]*/(.*)\$ /\$1 last; }
    }
}
END
    "$nginx" -e "$1/error.log" -p "$1" -c "$1/nginx.conf" >>"$1/nginx.out" 2>&1 </dev/null &
    nginx_pid=$!
    servers="$servers $nginx_pid"
    for _ in $(seq 100); do
        curl -s -o "$1/hello" "http://127.0.0.1:$2/" && return 0
        kill -0 "$nginx_pid" 2>/dev/null || break
        sleep 0.1
    done
    die_with_log "$1/nginx.out" "nginx did not start"
}
