# SPDX-License-Identifier: GPL-2.0-or-later
"""What the end-to-end tests share: a Squid, an origin, clients, and readers of what they leave behind."""
