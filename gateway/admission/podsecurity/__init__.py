"""Pod Security Admission: which pods a namespace allows (pages "Pod Security Standards", "Pod Security Admission").

Enter by `reviews.PodSecurity`. `checks` has a module for each check, `registry` lists the checks of each level in each
version.
"""
