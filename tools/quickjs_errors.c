/* Messages of QuickJS's errors that name the value. tools/build_quickjs.sh makes this file a part of
   quickjs.c, which calls it where it throws:

     c.user is not a function (c is a Promise: is an await missing?)

   The name of a value is read back from the byte code that pushed it, and values are looked at
   where that runs no JavaScript. Without a name the message is QuickJS's own.

   Frames   the one that runs now, whose cur_pc is after the instruction that failed. */

enum { QUIRE_NAME_BYTES = 96, QUIRE_INSTRUCTION_COUNT = 256 };

/* An instruction on a path from the beginning of its function. */
typedef struct {
    int at;       /* Its place in the byte code. */
    int level;    /* Values on the stack before it; -1: not known. */
    int source;   /* The first place that jumps to it; -1: none does. */
    bool goes_on; /* The instruction before it may go on here. */
} QuireInstruction;

/* The last instructions before a place in a function. */
typedef struct {
    JSContext *ctx;
    JSStackFrame *frame;
    JSFunctionBytecode *code;
    QuireInstruction last[QUIRE_INSTRUCTION_COUNT];
    int count;
    /* Of the last producer that was found: get_loc0_loc1 pushes two values. */
    bool is_first_of_two;
} QuireInstructions;

/* The name of a value, such as "c.model", and of the promise in it: its first bytes, or none. */
typedef struct {
    char text[QUIRE_NAME_BYTES];
    int bytes;
    int promise_bytes;
} QuireName;

static bool quire_is_promise(JSValueConst value) {
    return JS_VALUE_GET_TAG(value) == JS_TAG_OBJECT &&
           JS_VALUE_GET_OBJ(value)->class_id == JS_CLASS_PROMISE;
}

static const QuireInstruction *quire_instruction(const QuireInstructions *all, int index) {
    return &all->last[index % QUIRE_INSTRUCTION_COUNT];
}

static const uint8_t *quire_at(const QuireInstructions *all, int index) {
    return all->code->byte_code_buf + quire_instruction(all, index)->at;
}

static int quire_argument_count(const uint8_t *at) {
    switch (short_opcode_info(*at).fmt) {
    case OP_FMT_npop:
    case OP_FMT_npop_u16:
        return get_u16(at + 1);
    case OP_FMT_npopx:
        return *at - OP_call0;
    default:
        return 0;
    }
}

/* The place that the instruction may jump to; -1: none. */
static int quire_target(const uint8_t *code, int at) {
    switch (code[at]) {
    case OP_goto:
    case OP_if_true:
    case OP_if_false:
    case OP_catch:
    case OP_gosub:
        return at + 1 + (int)get_u32(code + at + 1);
    case OP_goto16:
        return at + 1 + (int16_t)get_u16(code + at + 1);
    case OP_goto8:
    case OP_if_true8:
    case OP_if_false8:
        return at + 1 + (int8_t)code[at + 1];
    default:
        return -1;
    }
}

static bool quire_ends(uint8_t opcode) {
    switch (opcode) {
    case OP_goto:
    case OP_goto8:
    case OP_goto16:
    case OP_return:
    case OP_return_undef:
    case OP_return_async:
    case OP_throw:
    case OP_throw_error:
    case OP_ret:
    case OP_tail_call:
    case OP_tail_call_method:
    case OP_nip_catch: /* The level after it is that of its catch. */
        return true;
    default:
        return false;
    }
}

/* A place of the byte code that is jumped to. */
typedef struct {
    int level;
    int source;
} QuireTarget;

static bool quire_walk(QuireInstructions *all, QuireTarget *targets, int end) {
    const uint8_t *code = all->code->byte_code_buf;
    int at, level = 0;
    bool goes_on = true;

    for (at = 0; at < end;) {
        const JSOpCode *info = &short_opcode_info(code[at]);
        QuireInstruction *one = &all->last[all->count++ % QUIRE_INSTRUCTION_COUNT];
        int target = quire_target(code, at);

        if (targets[at].source >= 0)
            level = targets[at].level;
        one->at = at;
        one->level = level;
        one->source = targets[at].source;
        one->goes_on = goes_on;
        if (level >= 0)
            level += info->n_push - info->n_pop - quire_argument_count(code + at);
        if (target > at && target < all->code->byte_code_len && level >= 0 &&
            targets[target].source < 0) {
            targets[target].source = at;
            targets[target].level = level + (code[at] == OP_gosub);
        }
        goes_on = !quire_ends(code[at]);
        if (!goes_on)
            level = -1;
        at += info->size;
    }
    return at == end && all->count > 0;
}

/* Reads to cur_pc. False: no function of JavaScript runs, or cur_pc is not between two
   instructions. */
static bool quire_read_instructions(JSContext *ctx, QuireInstructions *all) {
    QuireTarget *targets;
    int i, end;
    bool is_read;

    all->ctx = ctx;
    all->frame = ctx->rt->current_stack_frame;
    all->count = 0;
    if (!all->frame || !all->frame->cur_pc)
        return false;
    all->code = JS_GetFunctionBytecode(all->frame->cur_func);
    if (!all->code)
        return false;
    end = all->frame->cur_pc - all->code->byte_code_buf;
    if (end <= 0 || end > all->code->byte_code_len)
        return false;
    targets = malloc(all->code->byte_code_len * sizeof(*targets));
    if (!targets)
        return false;
    for (i = 0; i < all->code->byte_code_len; i++)
        targets[i].source = targets[i].level = -1;
    is_read = quire_walk(all, targets, end);
    free(targets);
    return is_read;
}

/* The index of the instruction at a place before `index`; -1: it is too long ago. */
static int quire_index_of(const QuireInstructions *all, int index, int at) {
    for (; index >= 0 && all->count - index < QUIRE_INSTRUCTION_COUNT; index--) {
        if (quire_instruction(all, index)->at == at)
            return index;
    }
    return -1;
}

/* The instruction before `index` that pushed the value in the slot `slot` of the stack; -1 if that
   is not known, as where two branches push it. */
static int quire_producer(QuireInstructions *all, int index, int slot) {
    int earliest_source = INT_MAX;

    while (index > 0 && all->count - index < QUIRE_INSTRUCTION_COUNT) {
        const QuireInstruction *here = quire_instruction(all, index);
        const QuireInstruction *one;
        const uint8_t *at;
        int pops, pushes;

        if (!here->goes_on) { /* It is reached by a jump alone. */
            index = here->source < 0 ? -1 : quire_index_of(all, index, here->source);
        } else {
            if (here->source >= 0 && here->source < earliest_source)
                earliest_source = here->source;
            index--;
        }
        if (index < 0)
            return -1;
        one = quire_instruction(all, index);
        at = quire_at(all, index);
        pops = short_opcode_info(*at).n_pop + quire_argument_count(at);
        pushes = short_opcode_info(*at).n_push;
        if (one->level < 0)
            return -1;
        if (slot < one->level - pops || slot >= one->level - pops + pushes)
            continue;
        switch (*at) {
        case OP_dup:
            slot = one->level - 1;
            continue;
        case OP_get_field2:
        case OP_get_array_el2:
            if (slot == one->level - pops)
                continue; /* The object stays. */
            break;
        case OP_get_loc0_loc1:
            all->is_first_of_two = slot == one->level;
            break;
        default:
            if (pushes != 1)
                return -1;
        }
        return earliest_source < one->at ? -1 : index;
    }
    return -1;
}

/* The slot of the value that is `depth` below the top before the instruction. */
static int quire_slot(const QuireInstructions *all, int index, int depth) {
    return quire_instruction(all, index)->level - 1 - depth;
}
static int quire_operand(QuireInstructions *all, int index, int depth) {
    if (quire_instruction(all, index)->level < 0)
        return -1;
    return quire_producer(all, index, quire_slot(all, index, depth));
}

static void quire_add(QuireName *name, const char *text) {
    int bytes = strlen(text);

    if (name->bytes + bytes >= QUIRE_NAME_BYTES) {
        name->bytes = -QUIRE_NAME_BYTES * 2; /* Too long; it stays so. */
        return;
    }
    if (name->bytes < 0)
        return;
    memcpy(name->text + name->bytes, text, bytes + 1);
    name->bytes += bytes;
}

static void quire_add_atom(QuireInstructions *all, QuireName *name, JSAtom atom) {
    char text[ATOM_GET_STR_BUF_SIZE];

    quire_add(name, JS_AtomGetStr(all->ctx, text, sizeof(text), atom));
}

/* A variable of the frame: its value, or JS_UNDEFINED. */
static JSValueConst quire_variable(QuireInstructions *all, QuireName *name, const uint8_t *at) {
    JSFunctionBytecode *code = all->code;
    JSStackFrame *frame = all->frame;
    JSVarRef **references = JS_VALUE_GET_OBJ(frame->cur_func)->u.func.var_refs;
    int number = -1;

    switch (*at) {
    case OP_get_loc:
    case OP_get_loc_check:
        number = get_u16(at + 1);
        goto local;
    case OP_get_loc8:
        number = at[1];
        goto local;
    case OP_get_loc0:
    case OP_get_loc1:
    case OP_get_loc2:
    case OP_get_loc3:
        number = *at - OP_get_loc0;
        goto local;
    case OP_get_loc0_loc1:
        number = all->is_first_of_two ? 0 : 1;
    local:
        if (number >= code->var_count)
            return JS_UNDEFINED;
        quire_add_atom(all, name, code->vardefs[code->arg_count + number].var_name);
        return frame->var_buf[number];
    case OP_get_arg:
        number = get_u16(at + 1);
        goto argument;
    case OP_get_arg0:
    case OP_get_arg1:
    case OP_get_arg2:
    case OP_get_arg3:
        number = *at - OP_get_arg0;
    argument:
        if (number >= code->arg_count)
            return JS_UNDEFINED;
        quire_add_atom(all, name, code->vardefs[number].var_name);
        return number < frame->arg_count ? frame->arg_buf[number] : JS_UNDEFINED;
    case OP_get_var_ref:
    case OP_get_var_ref_check:
        number = get_u16(at + 1);
        goto reference;
    case OP_get_var_ref0:
    case OP_get_var_ref1:
    case OP_get_var_ref2:
    case OP_get_var_ref3:
        number = *at - OP_get_var_ref0;
    reference:
        if (number >= code->closure_var_count)
            return JS_UNDEFINED;
        quire_add_atom(all, name, code->closure_var[number].var_name);
        return references && references[number] ? *references[number]->pvalue : JS_UNDEFINED;
    case OP_get_var:
    case OP_get_var_undef:
        quire_add_atom(all, name, get_u32(at + 1));
        return JS_UNDEFINED;
    }
    return JS_UNDEFINED;
}

/* A member that the object has itself and that is no accessor; else JS_UNDEFINED. */
static JSValueConst quire_own_member(JSValueConst object, JSAtom atom) {
    JSShapeProperty *shape;
    JSProperty *property;

    if (JS_VALUE_GET_TAG(object) != JS_TAG_OBJECT || JS_VALUE_GET_OBJ(object)->is_exotic)
        return JS_UNDEFINED;
    shape = find_own_property(&property, JS_VALUE_GET_OBJ(object), atom);
    if (!shape || (shape->flags & JS_PROP_TMASK))
        return JS_UNDEFINED;
    return property->u.value;
}

/* Writes the name of what the instruction pushes, and returns that value where it can be seen. */
static JSValueConst quire_describe(QuireInstructions *all, QuireName *name, int index) {
    const uint8_t *at;
    JSValueConst value;

    if (index < 0) {
        name->bytes = -QUIRE_NAME_BYTES * 2;
        return JS_UNDEFINED;
    }
    at = quire_at(all, index);
    switch (*at) {
    case OP_get_field:
    case OP_get_field2: {
        value = quire_describe(all, name, quire_operand(all, index, 0));
        quire_add(name, ".");
        quire_add_atom(all, name, get_u32(at + 1));
        value = quire_own_member(value, get_u32(at + 1));
        break;
    }
    case OP_get_length:
        quire_describe(all, name, quire_operand(all, index, 0));
        quire_add(name, ".length");
        value = JS_UNDEFINED;
        break;
    case OP_get_array_el:
    case OP_get_array_el2:
        quire_describe(all, name, quire_operand(all, index, 1));
        quire_add(name, "[...]");
        value = JS_UNDEFINED;
        break;
    case OP_call:
    case OP_call0:
    case OP_call1:
    case OP_call2:
    case OP_call3:
    case OP_call_method:
        quire_describe(all, name, quire_operand(all, index, quire_argument_count(at)));
        quire_add(name, at[0] == OP_call0 || (at[0] != OP_call1 && at[0] != OP_call2 &&
                                              at[0] != OP_call3 && quire_argument_count(at) == 0)
                            ? "()"
                            : "(...)");
        value = JS_UNDEFINED;
        break;
    case OP_await:
        quire_add(name, "(await ");
        quire_describe(all, name, quire_operand(all, index, 0));
        quire_add(name, ")");
        name->promise_bytes = 0; /* It was awaited. */
        value = JS_UNDEFINED;
        break;
    default: {
        int before = name->bytes;
        value = quire_variable(all, name, at);
        if (name->bytes == before) /* It has no name. */
            name->bytes = -QUIRE_NAME_BYTES * 2;
    }
    }
    if (quire_is_promise(value) && name->promise_bytes == 0 && name->bytes > 0)
        name->promise_bytes = name->bytes;
    return value;
}

/* " (c is a Promise: is an await missing?)" */
static JSValue quire_throw_with_promise(JSContext *ctx, const char *message, const char *promise) {
    return JS_ThrowTypeError(ctx, "%s (%s is a Promise: is an await missing?)", message, promise);
}

/* The call of the frame that runs now, or of a function of C. */
static JSValue quire_throw_not_a_function(JSContext *ctx, JSValueConst this_obj) {
    QuireInstructions all;
    QuireName name = {"", 0, 0};
    QuireName object = {"", 0, 0};
    char message[QUIRE_NAME_BYTES + 32];
    const uint8_t *at;
    bool is_method, is_call;

    if (!quire_read_instructions(ctx, &all))
        goto unnamed;
    at = quire_at(&all, all.count - 1);
    if (*at == OP_call_constructor) {
        quire_describe(&all, &name, quire_operand(&all, all.count - 1, quire_argument_count(at)));
        if (name.bytes > 0)
            return JS_ThrowTypeError(ctx, "%s is not a constructor", name.text);
        return JS_ThrowTypeError(ctx, "not a constructor");
    }
    is_method = *at == OP_call_method || *at == OP_tail_call_method;
    is_call =
        is_method || *at == OP_call || *at == OP_tail_call || (*at >= OP_call0 && *at <= OP_call3);
    if (!is_call)
        goto unnamed;
    quire_describe(&all, &name, quire_operand(&all, all.count - 1, quire_argument_count(at)));
    if (name.bytes <= 0)
        goto unnamed;
    snprintf(message, sizeof(message), "%s is not a function", name.text);
    if (is_method && quire_is_promise(this_obj)) {
        quire_describe(&all, &object,
                       quire_operand(&all, all.count - 1, quire_argument_count(at) + 1));
        if (object.bytes > 0)
            return quire_throw_with_promise(ctx, message, object.text);
    }
    if (name.promise_bytes > 0) {
        name.text[name.promise_bytes] = 0;
        return quire_throw_with_promise(ctx, message, name.text);
    }
    return JS_ThrowTypeError(ctx, "%s", message);
unnamed:
    if (quire_is_promise(this_obj))
        return JS_ThrowTypeError(ctx, "not a function of a Promise: is an await missing?");
    return JS_ThrowTypeError(ctx, "not a function");
}

/* `prop` of undefined or null. */
static JSValue quire_throw_cannot_read(JSContext *ctx, const char *of, JSAtom prop) {
    QuireInstructions all;
    QuireName name = {"", 0, 0};
    char text[ATOM_GET_STR_BUF_SIZE];
    char message[ATOM_GET_STR_BUF_SIZE + 64];
    const uint8_t *at;

    snprintf(message, sizeof(message), "cannot read property '%s' of %s",
             JS_AtomGetStr(ctx, text, sizeof(text), prop), of);
    if (quire_read_instructions(ctx, &all)) {
        at = quire_at(&all, all.count - 1);
        if (*at == OP_get_field || *at == OP_get_field2 || *at == OP_get_length)
            quire_describe(&all, &name, quire_operand(&all, all.count - 1, 0));
        if (name.promise_bytes > 0 && name.promise_bytes < QUIRE_NAME_BYTES) {
            name.text[name.promise_bytes] = 0;
            return quire_throw_with_promise(ctx, message, name.text);
        }
    }
    return JS_ThrowTypeError(ctx, "%s", message);
}

static JSValue quire_throw_not_iterable(JSContext *ctx, JSValueConst value) {
    if (quire_is_promise(value))
        return JS_ThrowTypeError(ctx, "a Promise is not iterable: is an await missing?");
    return JS_ThrowTypeError(ctx, "value is not iterable");
}

/* A text of the object or of its prototypes, without running an accessor. */
static JSValueConst quire_data_text(JSValueConst object, JSAtom atom) {
    JSObject *p = JS_VALUE_GET_OBJ(object);

    for (; p && !p->is_exotic; p = p->shape->proto) {
        JSProperty *property;
        JSShapeProperty *shape = find_own_property(&property, p, atom);
        if (shape)
            return !(shape->flags & JS_PROP_TMASK) && JS_IsString(property->u.value)
                       ? property->u.value
                       : JS_UNDEFINED;
    }
    return JS_UNDEFINED;
}

/* The first line of the stack of an Error: "TypeError: message". */
static void quire_put_first_line(JSContext *ctx, DynBuf *into, JSValueConst error) {
    JSValue pending;
    const char *name, *message;

    if (JS_VALUE_GET_TAG(error) != JS_TAG_OBJECT ||
        JS_VALUE_GET_OBJ(error)->class_id != JS_CLASS_ERROR)
        return;
    pending = JS_GetException(ctx);
    name = message = NULL;
    if (JS_IsString(quire_data_text(error, JS_ATOM_name)))
        name = JS_ToCString(ctx, quire_data_text(error, JS_ATOM_name));
    if (JS_IsString(quire_data_text(error, JS_ATOM_message)))
        message = JS_ToCString(ctx, quire_data_text(error, JS_ATOM_message));
    dbuf_putstr(into, name ? name : "Error");
    if (message && message[0]) {
        if (!name || name[0])
            dbuf_putstr(into, ": ");
        dbuf_putstr(into, message);
    }
    dbuf_putc(into, '\n');
    JS_FreeCString(ctx, name);
    JS_FreeCString(ctx, message);
    if (JS_HasException(ctx))
        JS_FreeValue(ctx, JS_GetException(ctx));
    JS_Throw(ctx, pending);
}
