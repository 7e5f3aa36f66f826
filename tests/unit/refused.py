# SPDX-License-Identifier: GPL-2.0-or-later
"""refused.py - system calls of a program that fail, as a file system without room, or a kernel without a flag, lets them fail.

    subprocess.Popen(words, preexec_fn=refused.calls(("pwrite64", errno.EDQUOT)))

A filter of the kernel (seccomp) gives the error before the call does anything, so it needs no root and any build of the
program.  refused.known() is empty where that works, and else says why it does not.
"""
import ctypes
import platform
import struct

# Numbers of calls, and what the kernel calls the machine.
MACHINES = {"x86_64": (0xc000003e, {"pwrite64": 18, "fchown": 93, "renameat2": 316, "write": 1}),
            "aarch64": (0xc00000b7, {"pwrite64": 68, "fchown": 55, "renameat2": 276, "write": 64})}
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERROR = 0x7fff0000, 0x00050000
NUMBER, MACHINE, ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2


class Program(ctypes.Structure):
    """struct sock_fprog"""
    _fields_ = [("size", ctypes.c_ushort), ("steps", ctypes.c_char_p)]


def known():
    return "" if platform.machine() in MACHINES else "the numbers of system calls of %s are not known" % platform.machine()


def calls(*failing):
    """A function for preexec_fn.  failing: (name, errno), or (name, errno, number of an argument, value): only if its lower 32
    bits are that."""
    machine, numbers = MACHINES[platform.machine()]
    steps = [(LOAD, 0, 0, MACHINE), (EQUAL, 1, 0, machine), (RETURN, 0, 0, ALLOW), (LOAD, 0, 0, NUMBER)]
    for name, error, *argument in failing:
        look = [(LOAD, 0, 0, ARGUMENTS + 8 * argument[0]), (EQUAL, 0, 1, argument[1])] if argument else []
        steps += [(EQUAL, 0, len(look) + 1, numbers[name]), *look, (RETURN, 0, 0, ERROR | error), (LOAD, 0, 0, NUMBER)]
    steps.append((RETURN, 0, 0, ALLOW))
    program = Program(len(steps), b"".join(struct.pack("HBBI", *step) for step in steps))
    libc = ctypes.CDLL(None, use_errno=True)

    def install():
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or libc.prctl(PR_SET_SECCOMP, FILTER, ctypes.byref(program)) != 0:
            raise OSError(ctypes.get_errno(), "seccomp")
    return install
