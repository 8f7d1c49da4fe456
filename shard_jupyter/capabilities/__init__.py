"""L3: first-party optional capabilities. Each folder has one face: `register(api)`."""
