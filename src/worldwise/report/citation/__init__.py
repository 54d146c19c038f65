# SPDX-License-Identifier: BSD-2-Clause
"""How a run is cited: its method paragraph, its components, and BibTeX of who made what."""
