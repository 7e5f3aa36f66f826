# SPDX-License-Identifier: GPL-2.0-or-later
"""squid_like.py - a program that has some of Squid's functions, for sqtrace-attach."""
import os
import subprocess

# Functions of a Squid, under their mangled names.  The first two are what no Squid is without.
SOURCE = """
#include <unistd.h>
void xact(void) __asm__("_ZN17ClientHttpRequestC1EP13ConnStateData");
void log(void) __asm__("_ZN17ClientHttpRequest10logRequestEv");
void read_(void) __asm__("_Z7fd_openijPKc");
const char mark[] = "squid/9.8.7-test";
__asm__(".text\\n"
        ".globl _ZN17ClientHttpRequestC1EP13ConnStateData\\n_ZN17ClientHttpRequestC1EP13ConnStateData: push %rbp; pop %rbp; ret\\n"
        ".globl _ZN17ClientHttpRequest10logRequestEv\\n_ZN17ClientHttpRequest10logRequestEv: lea 16(%rip),%rax; push %rbx; pop %rbx; ret\\n"
        ".globl _Z7fd_openijPKc\\n_Z7fd_openijPKc: mov %rsi,%rdx; ret\\n");
"""
MAIN = "int main(int count, char **words) { (void)words; return count > 1 ? sleep(30) != 0 : mark[0] == 0; }\n"


def program(folder, main=MAIN):
    """A program that has three of Squid's functions, and that main() in C."""
    source, path = os.path.join(folder, "squid-like.c"), os.path.join(folder, "squid-like")
    with open(source, "w", encoding="utf-8") as file:
        file.write(SOURCE + main)
    subprocess.run(["cc", "-w", "-rdynamic", "-o", path, source], check=True)
    return path
