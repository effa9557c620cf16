// A table with addresses in it, so that the linker leaves dynamic relocations. Code object version 5.
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.text
	.globl	answer
	.type	answer,@function
	.p2align 8
answer:
	s_mov_b32 s0, 42
	s_setpc_b64 s[30:31]
.Lend:
	.size	answer, .Lend-answer

	.globl	lonely
	.type	lonely,@function
	.p2align 8
lonely:
	s_endpgm
.Llonely_end:
	.size	lonely, .Llonely_end-lonely

	.section .rodata,"a",@progbits
	.p2align 6
	.amdhsa_kernel lonely
		.amdhsa_next_free_vgpr 9
		.amdhsa_next_free_sgpr 20
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_kernarg_size 24
		.amdhsa_group_segment_fixed_size 128
	.end_amdhsa_kernel

	.data
	.globl	pointers
	.type	pointers,@object
	.p2align 3
pointers:
	.quad	answer
	.quad	answer+4
	.quad	local_word
	.quad	outside
	.quad	maybe
	.size	pointers, 40
local_word:
	.long	7
	.weak	maybe
