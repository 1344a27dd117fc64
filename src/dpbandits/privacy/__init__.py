"""Privacy: declared guarantees."""

from dpbandits.privacy.guarantees import NO_PRIVACY, PrivacyGuarantee

__all__ = ["NO_PRIVACY", "PrivacyGuarantee"]
