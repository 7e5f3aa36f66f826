# SPDX-License-Identifier: GPL-2.0-or-later
#
# tap.sh - numbered results of a test script.

number=0

# check NAME: the last command's status.  Of one that failed it shows the files $out and $err, if they are set.
check()
{
    if [ $? -eq 0 ]; then
        number=$((number + 1))
        echo "ok $number - $1"
    else
        number=$((number + 1))
        echo "not ok $number - $1"
        [ -z "${out-}" ] || sed 's/^/# stdout: /' "$out" | head -5
        [ -z "${err-}" ] || sed 's/^/# stderr: /' "$err" | head -5
    fi
}

plan()
{
    echo "1..$number"
}
