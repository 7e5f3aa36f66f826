dnl SPDX-License-Identifier: GPL-2.0-or-later
dnl sqtrace.m4 - looks for what sqtrace needs and says how Debian calls what is missing.

# SQT_NEED_LIB(NAME, HEADER, LIBRARY, FUNCTION, DEBIAN-PACKAGE, VARIABLE)
# Without it nothing can be built.
AC_DEFUN([SQT_NEED_LIB], [
SQT_FIND_LIB_([$1], [$2], [$3], [$4], [$6])
AS_IF([test "x$sqt_found" != xyes], [sqt_missing="$sqt_missing
  $1: apt-get install $5"])
])

# SQT_WANT_LIB(NAME, HEADER, LIBRARY, FUNCTION, DEBIAN-PACKAGE, WHAT-FOR, VARIABLE)
AC_DEFUN([SQT_WANT_LIB], [
SQT_FIND_LIB_([$1], [$2], [$3], [$4], [$7])
AS_VAR_SET([sqt_have_$1], [$sqt_found])
AS_IF([test "x$sqt_found" != xyes], [sqt_wanted="$sqt_wanted
  $1 ($6): apt-get install $5"])
])

AC_DEFUN([SQT_FIND_LIB_], [
sqt_found=no
sqt_saved_libs=$LIBS
AC_CHECK_HEADER([$2], [AC_CHECK_LIB([$3], [$4], [sqt_found=yes
    AC_SUBST([$5], [-l$3])], [], [-lpthread])], [],
    [#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>])
LIBS=$sqt_saved_libs
])

# SQT_WANT_PROGRAM(PROGRAM, DEBIAN-PACKAGE, WHAT-FOR)
AC_DEFUN([SQT_WANT_PROGRAM], [
AC_CHECK_PROG([sqt_have_$1], [$1], [yes], [no], [$PATH:/usr/sbin:/sbin])
AS_IF([test "x$sqt_have_$1" != xyes], [sqt_wanted="$sqt_wanted
  $1 ($3): apt-get install $2"])
])

# SQT_WANT_BPF_COMPILER
# A clang that compiles for the kernel's virtual machine, as BPF_CC.  The functions that sqtrace-attach watches are known by the
# registers of x86-64, so it is made for no other processor.
AC_DEFUN([SQT_WANT_BPF_COMPILER], [
AC_REQUIRE([AC_CANONICAL_HOST])
AC_CHECK_PROGS([BPF_CC], [clang clang-19 clang-16 clang-15 clang-14])
sqt_have_bpf_compiler=no
AC_MSG_CHECKING([for a compiler of BPF programs])
AS_CASE([$host_cpu], [x86_64], [
    printf '%s\n' '#include <linux/bpf.h>' 'int f(void) { return BPF_ANY; }' > conftest.bpf.c
    AS_IF([test -n "$BPF_CC" && $BPF_CC -O2 -target bpf -I/usr/include/$(uname -m)-linux-gnu -c conftest.bpf.c -o conftest.bpf.o 2>&AS_MESSAGE_LOG_FD],
        [sqt_have_bpf_compiler=yes])
    rm -f conftest.bpf.c conftest.bpf.o])
AC_MSG_RESULT([$sqt_have_bpf_compiler])
AS_IF([test "x$sqt_have_bpf_compiler" != xyes && test "x$host_cpu" = xx86_64], [sqt_wanted="$sqt_wanted
  clang with the target bpf (sqtrace-attach): apt-get install clang"])
AS_IF([test "x$host_cpu" != xx86_64], [AC_MSG_NOTICE([sqtrace-attach is left out: it is for x86-64])])
])

# Says all that is missing at once.
AC_DEFUN([SQT_REPORT_MISSING], [
AS_IF([test -n "$sqt_wanted"], [AC_MSG_WARN([not found, and not needed to build:$sqt_wanted])])
AS_IF([test -n "$sqt_missing"], [AC_MSG_ERROR([missing packages:$sqt_missing])])
])

# SQT_OPTION(NAME, HELP, IF-ENABLED): --enable-NAME, off by default.
AC_DEFUN([SQT_OPTION], [
AC_ARG_ENABLE([$1], [AS_HELP_STRING([--enable-$1], [$2])])
AS_IF([test "x$AS_TR_SH([enable_$1])" = xyes], [$3])
])
