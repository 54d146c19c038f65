# SPDX-License-Identifier: BSD-2-Clause
"""Commands on a user's own code: run it, explain what it takes, and set up a repository for it."""
