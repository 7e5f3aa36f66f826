#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# dump_strace.sh - the table of system calls from what strace or perf trace printed.

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
echo "1..14"
number=0
result() { # result STATUS NAME
    number=$((number + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $number - $2"
    else
        echo "not ok $number - $2"
        sed 's/^/# /' out err
    fi
}
syscalls() {
    "$SQT_TOOLS/sqtrace-dump" --table=syscalls --from=strace "$@" >out 2>err
}

cat >text <<'END'
77 1700000000.000000 epoll_wait(5<anon_inode:[eventpoll]>, [], 512, 10) = 0 <0.010000>
77 1700000000.020000 read(9<TCP:[127.0.0.1:80->127.0.0.1:81]>, "text (), <0.5>", 100) = 14 <0.000100>
77 1700000000.030000 read(10</cache/00/00/00000001>, "", 4096) = 4096 <0.000300>
77 1700000000.040000 openat(AT_FDCWD</tmp>, "/cache/00", O_RDWR|O_CREAT, 0644) = 11</cache/00> <0.001000>
77 1700000000.050000 write(11</cache/00>, "x", 1 <unfinished ...>
78 1700000000.060000 read(3<pipe:[4711]>, "x", 1) = 1 <2.000000>
77 1700000001.050000 <... write resumed>) = 1 <1.000000>
77 1700000001.500000 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=79} ---
77 1700000001.600000 odd_call(1) = -1 ENOSYS (Function not implemented) <0.000001>
77 1700000012.000000 lseek(11</cache/00>, 0, SEEK_SET) = 0 <0.000002>
77 1700000013.000000 exit_group(0) = ?
77 1700000013.000001 +++ exited with 0 +++
78 1700000013.000002 futex(0x5610cbe8d580, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, FUTEX_BITSET_MATCH_ANY <detached ...>
79 1700000013.000003 read(3<pipe:[4711]>,  <unfinished ...>
79 1700000013.000004 <... read resumed> <detached ...>
END
syscalls --columns=time_s,thread,name,total_s,count,max_s text
cat >expected <<'END'
time_s	thread	name	total_s	count	max_s
0.000000000	thread 77	misc	8.988599000	7	-
0.000000000	thread 77	epoll_wait	0.010000000	1	0.010000000
0.000000000	thread 77	odd_call	0.000001000	1	0.000001000
0.000000000	thread 77	open-write	0.001000000	1	0.001000000
0.000000000	thread 77	read	0.000100000	1	0.000100000
0.000000000	thread 77	read-disk	0.000300000	1	0.000300000
0.000000000	thread 77	write-disk	1.000000000	1	1.000000000
0.000000000	thread 78	misc	8.000000000	2	-
0.000000000	thread 78	read-pipe	2.000000000	1	2.000000000
10.000000000	thread 77	misc	2.000000000	2	-
10.000000000	thread 77	lseek	0.000002000	1	0.000002000
10.000000000	thread 78	misc	2.000002000	1	-
END
grep -v '^#' out | diff - expected >'diff' 2>&1
result $? "classes, windows, unfinished calls and those in which strace left, threads"

sed 's/^77 /[pid    77] /; s/^78 /[pid 78] /' text | "$SQT_TOOLS/sqtrace-dump" --table=syscalls --from=strace - >piped 2>err
"$SQT_TOOLS/sqtrace-dump" --table=syscalls --from=strace text >out 2>>err
cmp -s piped out
result $? "the same from a terminal's form, from a pipe"

syscalls --group=1h --where='name == write-disk' text
[ "$(grep -vc '^#' out)" = 2 ]
result $? "--group and --where"

sed 's/ <[0-9.]*>$//' text >untimed
syscalls untimed
[ $? -eq 1 ] && grep -qx 'sqtrace-dump: untimed: line 1: a call without its duration; it must be made by strace -f -ttt -T -yy' err
result $? "without -T"

echo "an essay" >essay
syscalls essay
[ $? -eq 1 ] && grep -qx 'sqtrace-dump: essay: line 1: this is not what strace -f -ttt -T -yy prints' err
result $? "another kind of file"

"$SQT_TOOLS/sqtrace-dump" --table=requests --from=strace text >out 2>err
[ $? -eq 2 ] && grep -q -- '--from=strace gives only --table=syscalls' err
result $? "another table"

awk 'BEGIN { for (i = 0; i < 400; ++i) printf "%d %d.0 read(1, 1) = 1 <0.1>\n", i, 1700000000 + i * 11 }' >many
syscalls --no-comments --no-header --columns=name many
[ "$(wc -l <out)" -lt 42000 ]
result $? "a thread that makes no call any more has no rows after 100 windows"

cat >text <<'END'
     0.000 (10.000 ms): my squid/77 epoll_wait(epfd: 5<anon_inode:[eventpoll]>, events: 0x55, maxevents: 512, timeout: 10) = 0
    20.000 ( 0.100 ms): my squid/77 read(fd: 9<socket:[4243055]>, buf: 0x7ffc26ee1748, count: 100)           = 14
    30.000 ( 0.300 ms): my squid/77 read(fd: 10</cache/00/00/00000001>, buf: 0x7ffc26ee1748, count: 4096)    = 4096
    40.000 ( 1.000 ms): my squid/77 openat(dfd: CWD, filename: 0xe70ff620, flags: RDWR|CREAT, mode: IRUGO)   = 11
    50.000 (         ): my squid/77 write(fd: 11</cache/00>, buf: 0x7ffc26ee1748, count: 1)                  ...
    60.000 (2000.000 ms): aufs/78 read(fd: 3<pipe:[4711]>, buf: 0x7ffc26ee1748, count: 1)                    = 1
    50.000 (1000.000 ms): my squid/77  ... [continued]: write())                                             = 1
  1600.000 ( 0.001 ms): my squid/77 odd_call(which: 1)                                                       = -1 ENOSYS (Function not implemented)
 12000.000 ( 0.002 ms): my squid/77 lseek(fd: 11</cache/00>, whence: SET)                                    = 0
 13000.000 (         ): my squid/77 exit_group()                                                             = ?
END
"$SQT_TOOLS/sqtrace-dump" --table=syscalls --from=perf --columns=time_s,thread,name,total_s,count,max_s text >out 2>err
grep -v '^#' out | diff - expected >'diff' 2>&1
result $? "the same calls as perf trace prints them"

"$SQT_TOOLS/sqtrace-dump" --table=syscalls --from=perf essay >out 2>err
[ $? -eq 1 ] && grep -qx 'sqtrace-dump: essay: line 1: this is not what perf trace prints' err
result $? "another kind of file, for perf"

# within KB COMMAND...: with that much memory, and for 20 s at most
within() {
    (
        # shellcheck disable=SC3045 # dash and bash have it
        ulimit -v "$1"
        shift
        exec timeout -k 5 20 "$@"
    )
}
most=600000
! grep -q __asan_init "$SQT_TOOLS/sqtrace-dump" && ! grep -q __tsan_init "$SQT_TOOLS/sqtrace-dump" || most=unlimited

truncate -s 1T hole
within $most "$SQT_TOOLS/sqtrace-dump" --table=syscalls --from=strace hole >out 2>err
[ $? -eq 1 ] && grep -qx 'sqtrace-dump: hole: line 1 does not end in 64 MiB' err
result $? "a hole"

{
    echo '77 1700000000.000000 read(1, "x", 1) = 1 <0.100000>'
    head -c 3000000 /dev/zero | tr '\0' x
    echo
    echo '77 1700000001.000000 read(1, "x", 1) = 1 <0.100000>'
} >long
syscalls --columns=name,count long
grep -q "^read	2$" out && grep -q "lines that were not understood: 1$" out
result $? "a line of 3 MB is not understood, and others are"

awk 'BEGIN { for (i = 1; i <= 300000; ++i) printf "%d 1700000000.0 read(1, <unfinished ...>\n", i
             for (i = 1; i <= 300000; ++i) printf "%d 1700000001.0 <... read resumed>\"\", 1) = 0 <1.000000>\n", i }' >open
[ "$most" = unlimited ] || most=60000
within $most "$SQT_TOOLS/sqtrace-dump" --table=syscalls --from=strace --columns=name,count open >out 2>err
grep -q "^# calls: 295904 are left out, because more than 4096 go on at once$" out &&
    [ "$(grep -c '^read	1$' out)" = 4096 ]
result $? "4,096 calls may go on at once"

awk 'BEGIN { for (i = 1; i <= 9000; ++i) printf "%d 1700000000.0 read(1, <unfinished ...>\n%d 1700000001.0 %s\n", i, i,
             i % 2 ? "+++ exited with 0 +++" : "<... read resumed>\"\", 1) = 0 <1.000000>" }' >ended
syscalls ended
! grep -q "^# calls:" out
result $? "as many as there are, one after the other"

mkfifo pipe
timeout 20 "$SQT_TOOLS/sqtrace-dump" --table=syscalls --from=strace pipe >piped 2>err &
cat long >pipe
wait $!
"$SQT_TOOLS/sqtrace-dump" --table=syscalls --from=strace long >out 2>>err
cmp -s piped out && { syscalls /dev/zero || grep -qx 'sqtrace-dump: /dev/zero: neither a regular file nor a pipe' err; }
result $? "a named pipe is read, and a device is refused"
