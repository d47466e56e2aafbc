"""Pod Security Admission: which pods a namespace takes (pages "Pod Security Standards", "Pod Security Admission")."""
