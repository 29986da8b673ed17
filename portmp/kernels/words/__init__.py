"""The words of templates, by subject; ``portmp.kernels.vocabulary`` puts them together."""
