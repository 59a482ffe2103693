# Makes the repository of the fixture in the current folder. A commit and a tag say that they are signed, so that what
# looks at signatures starts a program.
set -e
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=me GIT_AUTHOR_EMAIL=me@example.com GIT_COMMITTER_NAME=me GIT_COMMITTER_EMAIL=me@example.com
git init -q -b main .
git add -A
git commit -q -m one
git branch other
commit=$(git cat-file commit HEAD | sed '/^committer/a gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----' |
    git hash-object -t commit -w --stdin)
git reset -q --soft "$commit"
git tag -m x v1
tag=$( (git cat-file tag v1; printf '%s\n' '-----BEGIN PGP SIGNATURE-----' '' x '-----END PGP SIGNATURE-----') |
    git hash-object -t tag -w --stdin)
git update-ref refs/tags/v1 "$tag"
echo changed >> a.txt
echo staged >> b.txt
git add b.txt
