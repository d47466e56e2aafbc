"""Restricted: /proc is masked for pods in a user namespace of their own too."""

from __future__ import annotations

from gateway.admission.podsecurity.check import Check, Revision
from gateway.admission.podsecurity.checks.proc_mount import unmasked
from gateway.admission.podsecurity.levels import Level

CHECK = Check("procMount_restricted", Level.RESTRICTED, (Revision(35, unmasked, ("procMount",)),))
