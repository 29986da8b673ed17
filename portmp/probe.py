def approve(device): pass
