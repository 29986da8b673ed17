"""The porting reference: its evidence looked at again, its pages written (``ci/porting``)."""
