#!/bin/sh
# Makes the code objects of this folder with LLVM 15 (Debian packages clang-15, lld-15, clang-tools-15). They are in the
# repository, so that building and testing Lanewise needs no GPU compiler.
set -eu
cd "$(dirname "$0")"
flags="-x cl -cl-std=CL1.2 -target amdgcn-amd-amdhsa -Xclang -finclude-default-header -nogpulib -O2 -c"

compile() { # TARGET VERSION OUTPUT
  # Linked by hand: the linker of LLVM 15 knows no version 2 any more, that of LLVM 14 no version 5 yet.
  ld=ld.lld-15
  [ "$2" = 2 ] && ld=ld.lld-14
  clang-15 $flags -mcpu="$1" -mcode-object-version="$2" kernels.cl -o kernels.o
  $ld -shared kernels.o -o "$3"
  rm kernels.o
}
compile gfx803 2 kernels.gfx803.v2.co
compile gfx900 3 kernels.gfx900.v3.co
compile gfx906:xnack-:sramecc+ 4 kernels.gfx906.v4.co
for target in gfx600 gfx700 gfx803 gfx900 gfx906; do compile $target 5 kernels.$target.v5.co; done
compile gfx90a 4 unsupported.gfx90a.v4.co
clang-15 $flags -mcpu=gfx900 -mcode-object-version=5 kernels.cl -o relocatable.o

clang-15 -target amdgcn-amd-amdhsa -mcpu=gfx906 -mcode-object-version=5 -c relocated.s -o relocated.o
ld.lld-15 -shared relocated.o -o relocated.gfx906.v5.co

: > empty
clang-offload-bundler-15 -type=o -bundle-align=4096 \
  -targets=host-x86_64-unknown-linux,hipv4-amdgcn-amd-amdhsa--gfx803,hipv4-amdgcn-amd-amdhsa--gfx906:sramecc+:xnack- \
  -input=empty -input=kernels.gfx803.v5.co -input=kernels.gfx906.v4.co -output=kernels.bundle

# A host object with the bundle embedded, as hipcc leaves it. Assembled without code, so that it stays small.
printf '.section .hip_fatbin,"a",@progbits\n.p2align 12\n.incbin "kernels.bundle"\n' |
  clang-15 -target x86_64-linux-gnu -x assembler -c - -o host_with_fatbin.o
rm -f empty relocated.o
