/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * place.c - see place.h.
 *
 * Of the instructions of x86-64, only those are known that compilers put at the beginning of functions; at any other the
 * search ends.
 */
#include "place.h"

#include <string.h>

/* The registers of the first six arguments, by their numbers: rcx, rdx, rsi, rdi, r8, r9. */
#define PLACE_ARGUMENTS (1u << 1 | 1u << 2 | 1u << 6 | 1u << 7 | 1u << 8 | 1u << 9)
#define PLACE_NO_REGISTER 16u

/* What an instruction does with its operand in ModRM. */
enum place_writes { PLACE_NOTHING, PLACE_REG, PLACE_RM };

struct place_cursor {
    const uint8_t *code;
    size_t size, at;
    unsigned rex;
    int narrow; /* operands are of 16 bits, and so are constants */
};

static int
place_byte(const struct place_cursor *c, size_t ahead)
{
    return c->at + ahead < c->size ? c->code[c->at + ahead] : -1;
}

/* Bytes of a ModRM operand, which begins at the cursor; 0 if the code ends there. */
static size_t
place_operand(const struct place_cursor *c)
{
    const int modrm = place_byte(c, 0);
    if (modrm < 0)
        return 0;
    const unsigned mod = (unsigned)modrm >> 6, rm = (unsigned)modrm & 7;
    if (mod == 3)
        return 1;
    size_t size = 1;
    if (rm == 4) {
        const int sib = place_byte(c, 1);
        if (sib < 0)
            return 0;
        ++size;
        if (mod == 0 && (sib & 7) == 5)
            size += 4;
    } else if (mod == 0 && rm == 5) {
        size += 4;
    }
    return size + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

/* Goes past an operand and `immediate` bytes.  Returns the register that the instruction changes, PLACE_NO_REGISTER for none, -1
 * if the code ends. */
static int
place_pass(struct place_cursor *c, enum place_writes writes, size_t immediate)
{
    const size_t size = place_operand(c);
    if (!size || c->at + size + immediate > c->size)
        return -1;
    const unsigned modrm = c->code[c->at];
    c->at += size + immediate;
    if (writes == PLACE_REG)
        return (int)((modrm >> 3 & 7) | (c->rex & 4) << 1);
    if (writes == PLACE_RM && modrm >> 6 == 3)
        return (int)((modrm & 7) | (c->rex & 1) << 3);
    return PLACE_NO_REGISTER;
}

/* Instructions of two bytes: 0f and this one.  vector: they change no general register. */
static int
place_two_bytes(struct place_cursor *c)
{
    const int op = place_byte(c, 1);
    c->at += 2;
    switch (op) {
    case 0x1f: /* nop */
    case 0x10: /* movups and its like, and what clears a vector register */
    case 0x11:
    case 0x16:
    case 0x28:
    case 0x29:
    case 0x57:
    case 0x6e:
    case 0x6f:
    case 0x7f:
    case 0xd6:
    case 0xef:
        return place_pass(c, PLACE_NOTHING, 0);
    case 0xb6: /* movzx, movsx */
    case 0xb7:
    case 0xbe:
    case 0xbf:
        return place_pass(c, PLACE_REG, 0);
    default:
        return -1;
    }
}

/* Goes past an instruction that is not emulated.  Returns as place_pass(). */
static int
place_step(struct place_cursor *c)
{
    int op = place_byte(c, 0);
    c->rex = 0;
    c->narrow = 0;
    while (op == 0x66 || op == 0xf3 || op == 0xf2) {
        c->narrow |= op == 0x66;
        ++c->at;
        op = place_byte(c, 0);
    }
    if (op >= 0x40 && op <= 0x4f) {
        c->rex = (unsigned)op & 15;
        ++c->at;
        op = place_byte(c, 0);
    }
    const size_t constant = c->narrow && !(c->rex & 8) ? 2 : 4;
    if (op == 0x0f)
        return place_two_bytes(c);
    ++c->at;
    switch (op) {
    case 0x8d: /* lea */
    case 0x8b: /* mov */
    case 0x63: /* movsxd */
    case 0x33: /* xor, sub, add */
    case 0x2b:
    case 0x03:
        return place_pass(c, PLACE_REG, 0);
    case 0x89: /* the same to the other operand */
    case 0x31:
    case 0x29:
    case 0x01:
        return place_pass(c, PLACE_RM, 0);
    case 0x38: /* cmp, test */
    case 0x39:
    case 0x3a:
    case 0x3b:
    case 0x84:
    case 0x85:
        return place_pass(c, PLACE_NOTHING, 0);
    case 0x80: /* with a constant */
    case 0x83:
        return place_pass(c, PLACE_RM, 1);
    case 0x81:
        return place_pass(c, PLACE_RM, constant);
    case 0xc6: /* mov of a constant */
        return place_pass(c, PLACE_RM, 1);
    case 0xc7:
        return place_pass(c, PLACE_RM, constant);
    case 0x90:
        return PLACE_NO_REGISTER;
    default:
        return -1;
    }
}

/* Whether the kernel emulates the instruction: push, without the prefixes that it does not know, calls and jumps. */
static int
place_emulated(const struct place_cursor *c)
{
    const int op = place_byte(c, 0), next = place_byte(c, 1);
    if (op == 0x41)
        return next >= 0x50 && next <= 0x57;
    if (op == 0x0f)
        return next >= 0x80 && next <= 0x8f && place_byte(c, 5) >= 0;
    return (op >= 0x50 && op <= 0x57) || (op >= 0x70 && op <= 0x7f) || op == 0xe8 || op == 0xe9 || op == 0xeb;
}

struct sqt_place_found
sqt_place_find(const uint8_t *code, size_t size)
{
    static const uint8_t landing[] = {0xf3, 0x0f, 0x1e, 0xfa}; /* endbr64 */
    const int lands = size >= sizeof(landing) && memcmp(code, landing, sizeof(landing)) == 0;
    const struct sqt_place_found first = {lands ? sizeof(landing) : 0, 0};
    struct place_cursor c = {code, size < SQT_PLACE_FAR ? size : SQT_PLACE_FAR, first.offset, 0, 0};
    while (c.at < c.size) {
        if (place_emulated(&c))
            return (struct sqt_place_found){c.at, 1};
        const int changed = place_step(&c);
        if (changed < 0 || (changed < (int)PLACE_NO_REGISTER && (PLACE_ARGUMENTS >> changed & 1)))
            return first;
    }
    return first;
}
