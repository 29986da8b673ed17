"""What factorisations share: panels of columns, and many small matrices at once."""
