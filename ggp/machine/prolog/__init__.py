"""The reference backend: SWI-Prolog through pyswip."""
