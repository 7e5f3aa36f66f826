#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# load_cli.sh - messages and exit statuses of sqtrace-load, and what it prints.

load=$SQT_TOOLS/sqtrace-load
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
number=0

result() { # result NAME: of the last command
    if [ $? -eq 0 ]; then
        number=$((number + 1)); echo "ok $number - $1"
    else
        number=$((number + 1)); echo "not ok $number - $1"
        sed 's/^/# stdout: /' out | head -5
        sed 's/^/# stderr: /' err | head -5
    fi
}

run() { # run COMMAND...: sets status
    timeout 30 "$@" >out 2>err
    status=$?
}

# fails STATUS MESSAGE ARGUMENT...: exactly this one line
fails() {
    want=$1 message=$2
    shift 2
    run "$load" "$@"
    [ "$status" = "$want" ] && [ "$(cat err)" = "sqtrace-load: $message" ] && ! [ -s out ]
    result "$* -> $want $message"
}

# ---- usage ----
fails 2 "unknown option '--clinets'; did you mean --clients?" --clinets=3
fails 2 "unknown workload 'wbp'; did you mean wpb?" --workload=wbp
fails 2 "unknown workload 'plethora'; --help shows them" --workload=plethora
fails 2 "--clients: 'many': expected a number" --clients=many
fails 2 "--clients: '0': too small" --clients=0
fails 2 "--rate: 'fast': expected a number from 0 to 1e+09" --rate=fast
fails 2 "--errors: '1.5': expected a number from 0 to 1" --errors=1.5
fails 2 "--wait: '3KB': the unit is none of ns, us, ms, s, min, h" --wait=3KB
fails 2 "--http: '2': expected 1.0 or 1.1" --http=2
fails 2 "--once and --keep-alive exclude each other" --once --keep-alive
fails 2 "--proxy: 'here': expected HOST:PORT" --proxy=here
fails 2 "--proxy: '127.0.0.1:x': expected a port" --proxy=127.0.0.1:x
fails 2 "--proxy: expected one address" --proxy=127.0.0.1:1,127.0.0.1:2
fails 2 "--origin takes no URL" --origin http://127.0.0.1/
fails 2 "'http://127.0.0.1/': only --workload=urls takes URLs" -w wpb http://127.0.0.1/
fails 2 "--tunnel needs a proxy" --tunnel
fails 1 "'ftp://127.0.0.1/': a URL begins with http:// or https://" ftp://127.0.0.1/
fails 1 "--sizes: 'large': expected uniform or pareto" -w wpb --sizes=large
fails 1 "--rate: wpb is a closed loop" -w wpb --rate=3
fails 1 "--requests=0: wpb needs a number of requests or a --duration" -w wpb --requests=0

fails 2 "--header: 'Host': expected NAME: VALUE in one line" -H Host
fails 2 "--header: 'A: b\\x0aC: d': expected NAME: VALUE in one line" "--header=A: b
C: d"
fails 2 "--post: '17MB': too large" --post=17MB
fails 1 "poly needs a --rate" -w poly
fails 1 "--scale: expected more than 0" -w poly --rate=1 --scale=0
fails 1 "--phases: there is no phase 'top'; did you mean top1 or top2?" -w poly --rate=1 --phases=fill,top
fails 1 "workload log needs --log=FILE" -w log
fails 1 "--timing and --rate exclude each other" -w log --log=none --timing --rate=3

# ---- what cannot be read, written, reached ----
fails 1 "could not connect: 127.0.0.1:1: Connection refused" --proxy=127.0.0.1:1
fails 1 "could not connect: 127.0.0.1:1: Connection refused" http://127.0.0.1:1/x
fails 1 "--urls: none: No such file or directory" --urls=none
printf '# a list\nhttp://127.0.0.1:1/a\nnonsense\n' >list
fails 1 "--urls: list, line 3: 'nonsense': a URL begins with http:// or https://" --urls=list
: >empty
fails 1 "--urls: empty: no URL in it" --urls=empty
fails 1 "--log: none: No such file or directory" -w log --log=none
fails 1 "--log: .: Is a directory" -w log --log=.
fails 1 "--log: list, line 1: '# a list': expected Squid's native format: time elapsed client tag/status bytes method URL" \
    -w log --log=list
fails 1 "--log: empty: no GET with status 200 or 304 in 0 lines" -w log --log=empty
# A line without an end: the run ends at once, and within 1 GB.
endless() { # endless MESSAGE ARGUMENT...
    message=$1
    shift
    # Sanitizers reserve more than any limit.
    (eval "$limit" && timeout 10 "$load" "$@") >out 2>err
    [ $? = 1 ] && [ "$(cat err)" = "sqtrace-load: $message" ]
    result "$* -> 1 $message"
}
limit=:
grep -q '__[at]san_init' "$load" || limit='ulimit -v 1000000'
printf '0 1 c t/200 5 GET http://127.0.0.1/\n' >endless
head -c 262145 /dev/zero | tr '\0' a >>endless
endless "--log: endless, line 2: expected a line of at most 256 KiB" -w log --log=endless
endless "--log: /dev/zero, line 1: expected a line of at most 256 KiB" -w log --log=/dev/zero
endless "--urls: /dev/zero, line 1: expected a line of at most 256 KiB" --urls=/dev/zero
fails 1 "none/rows: cannot write: No such file or directory" --rows=none/rows
fails 1 "empty: expected a certificate in PEM: no start line" --tls --cert=empty
if [ -w /dev/full ]; then
    timeout 30 "$load" -n 10 >/dev/full 2>err
    [ $? = 1 ] && [ "$(cat err)" = "sqtrace-load: standard output: cannot write: No space left on device" ]
    result "a full disk under the standard output"
    run "$load" -n 10 --output=/dev/full
    [ $status = 1 ] && [ "$(cat err)" = "sqtrace-load: /dev/full: cannot write: No space left on device" ]
    result "a full disk under --output"
    run "$load" -n 3000 --rows=/dev/full
    [ $status = 1 ] && [ "$(cat err)" = "sqtrace-load: /dev/full: cannot write: No space left on device" ] &&
        grep -q 'bodies compared: 30,000' out
    result "a full disk under --rows: the run ends, and its results are printed"
fi

# ---- results ----
run "$load" --help
options=$(grep -c '^LOAD_OPTION' "$SQT_SOURCE/tools/load/options.def")
[ $status = 0 ] && [ "$(grep -c '^  \(-., \)\?--' out)" = "$options" ]
result "--help shows every option"
run "$load" --version
[ $status = 0 ] && grep -qx 'sqtrace-load [0-9][0-9.]*' out
result "--version"
run "$load" -n 20 -c 5 --output=- --rows=rows
[ $status = 0 ] && [ "$(grep -vc '^#' out)" = 4 ] && [ "$(awk -F '\t' '!/^#/ { print NF }' out | sort -u | wc -l)" = 1 ] &&
    grep -qx '# origin_requests: 100' out && grep -qx '# valid: yes' out
result "--output=-: TSV, a header and three rows of as many columns"
[ "$(wc -l <rows)" = 101 ] && [ "$(awk -F '\t' '{ print NF }' rows | sort -u)" = 12 ]
result "--rows: a row for each request"
run "$load" -n 20 -c 5 --errors=0.5 --aborts=0.3 --output=o.tsv
[ $status = 0 ] && awk -F '\t' '/^#/ { next } !header { for (i = 1; i <= NF; ++i) at[$i] = i; header = 1; next }
    $2 == "all" { exit !($at["status"] > 30 && $at["truncated"] > 15 &&
        $at["status"] + $at["truncated"] == $at["errors"] && $at["errors"] + $at["responses"] == 100) }' o.tsv
result "errors and aborts of the origin are counted by kind"
run "$load" -n 20 -c 5 --tls --once
[ $status = 0 ] && grep -q 'bodies compared: 100' out && grep -q 'errors: none' out
result "TLS, a connection for each request"
run "$load" -n 20 -c 5 --post=300KB
[ $status = 0 ] && grep -q 'bodies compared: 100' out && grep -q 'errors: none' out
result "POST: the origin takes the bodies"
run "$load" -n 20 -c 5 --errors=1
[ $status = 3 ] && grep -q 'the run is invalid: each response was an error; the first was a bad status: status 503' err
result "only errors: the run is invalid"
run "$load" -c 2 -d 500ms --size=100
[ $status = 0 ] && sed -n 's/^urls: \([0-9,]*\) requests in 0\.[5-9].*/\1/p' out | tr -d , | awk '{ exit !($1 > 2000) }'
result "--duration alone: the preset number of requests does not end the run"
# A run of 40 s that a signal ends: of a terminal or a service, for all its processes, or of its origin alone.
signalled() { # signalled SIGNAL WHOM
    python3 - "$load" "$@" >out 2>err <<'END'
import os, signal, subprocess, sys, time
run = subprocess.Popen([sys.argv[1], "--quiet", "-c", "1", "-d", "40s", "--output=-"], start_new_session=True)
children = "/proc/%d/task/%d/children" % (run.pid, run.pid)
while not (child := open(children).read().split()) and run.poll() is None:
    time.sleep(0.01)
time.sleep(0.5)
os.kill(-run.pid if sys.argv[3] == "all" else int(child[0]), signal.Signals[sys.argv[2]])
print("# status:", run.wait(30))
END
}
for name in SIGINT SIGTERM; do
    signalled $name all
    grep -qx '# valid: yes' out && [ ! -s err ]
    result "$name for all processes of a run: it is valid"
done
signalled SIGKILL origin
grep -qx '# valid: no' out && grep -qx '# status: 1' out && grep -qx 'sqtrace-load: the origin has ended: Killed' err
result "the origin is killed: the run says so, and is not valid"
# What is sent: a server that answers with the request's head and the length of its body.
python3 - >port 2>heads <<'END' &
import http.server, sys
class Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        sys.stderr.write("%s %s|%s|%d\n" % (self.command, self.headers["X-One"], self.headers["Cookie"], len(body)))
        sys.stderr.flush()
        self.send_response(200); self.send_header("Content-Length", "0"); self.end_headers()
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Echo)
print(server.server_port, flush=True)
for _ in range(2): server.handle_request()
END
server=$!
while ! [ -s port ]; do sleep 0.05; done
run "$load" -c 1 -n 2 --once -H 'X-One: 1' -H 'Cookie: a=b; c' --post=70000 "http://127.0.0.1:$(cat port)/x"
wait $server
[ $status = 0 ] && [ "$(sort -u heads)" = 'POST 1|a=b; c|70000' ] && [ "$(wc -l <heads)" = 2 ]
result "header fields and bodies are sent"
echo "1..$number"
