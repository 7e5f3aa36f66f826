# SPDX-License-Identifier: GPL-2.0-or-later
#
# statistics.awk - mean, coefficient of variation, and intervals of confidence; functions only.

function mean_of(values, n,    i, sum) {
    for (i = 1; i <= n; ++i)
        sum += values[i]
    return n ? sum / n : 0
}

# Standard deviation of a sample.
function deviation_of(values, n,    i, mean, sum) {
    if (n < 2)
        return 0
    mean = mean_of(values, n)
    for (i = 1; i <= n; ++i)
        sum += (values[i] - mean) ^ 2
    return sqrt(sum / (n - 1))
}

# Integral of Student's density for so many degrees of freedom from 0 to the tangent of the angle, by Simpson's rule,
# without its constant factor.  The angle makes a finite interval of the endless tail.
function student_area(angle, freedom,    steps, i, x, sum) {
    steps = 2000
    for (i = 0; i <= steps; ++i) {
        x = angle * i / steps
        sum += (i == 0 || i == steps ? 1 : i % 2 ? 4 : 2) * \
            (1 + (sin(x) / cos(x)) ^ 2 / freedom) ^ (-(freedom + 1) / 2) / cos(x) ^ 2
    }
    return sum * angle / steps / 3
}

# Student's t: within it on both sides lie so many percent.
function student(percent, freedom,    low, high, middle, whole, i, key) {
    key = percent " " freedom
    if (key in student_known)
        return student_known[key]
    low = 0
    high = atan2(1, 0)
    whole = student_area(high, freedom)
    for (i = 0; i < 60; ++i) {
        middle = (low + high) / 2
        if (student_area(middle, freedom) / whole < percent / 100)
            low = middle
        else
            high = middle
    }
    return student_known[key] = sin(low) / cos(low)
}

# Half of the interval of confidence of the mean.
function interval_of(values, n, percent) {
    return n < 2 ? 0 : student(percent, n - 1) * deviation_of(values, n) / sqrt(n)
}

# As the studies print it: three or more digits, and the coefficient of variation in brackets.
function with_cv(values, n,    mean, cv) {
    if (!n)
        return "-"
    mean = mean_of(values, n)
    if (n < 2)
        return short_number(mean) " (-)"
    cv = mean ? 100 * deviation_of(values, n) / (mean < 0 ? -mean : mean) : 0
    return short_number(mean) " (" (cv < 1 ? sprintf("%.1f", cv) : sprintf("%.0f", cv)) ")"
}

function short_number(x) {
    if (x == int(x) && x < 1e6 && x > -1e6)
        return sprintf("%d", x)
    return sprintf(x >= 0.1 || x <= -0.1 ? "%.2f" : "%.3g", x)
}
