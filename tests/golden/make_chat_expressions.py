#!/usr/bin/env python3
"""Writes chat_expressions.json beside itself: small templates and what Jinja2 makes of them.

usage: make_chat_expressions.py [SEED COUNT]     (needs transformers and jinja2)

Each case is [source, text], with null for the text if Jinja2 raises. Some were written by hand; the
others are drawn from a seeded generator over Jinja's filters, tests, methods, operators and tags. With
SEED and COUNT it prints that many fresh cases instead, as one line of JSON each, for a longer search.
"""
import copy
import json
import pathlib
import random
import re
import signal
import sys
import warnings

from transformers_jinja import jinja_at

NOW = 1700000000
EXPRESSIONS_DRAWN, TEMPLATES_DRAWN, SEED = 900, 350, 20261125
LENGTH_MAX = 220  # Characters of a source and of a text.
VALUES = {
    "d": {"b": 2, "a": 1, "C": "x"}, "l": ["b", "a", "C", "a", "é"], "n": [3, 1, 2, 5, -4],
    "f": [1.5, 2.0, -0.25, 1e20], "s": "Hello, World foo-bar\n  baz\tqux ", "t": "",
    "o": [{"n": "b", "g": 1, "v": 3, "s": {"k": [1, 2]}}, {"n": "a", "g": 2, "v": 1}, {"n": "C", "g": 1, "v": 2.5}],
    "u": "Straße ÉCOLE 日本 🦙 ǆ ŉ", "i": 42, "k": -7, "r": 3.14159, "b": True, "nn": None, "e": [], "ed": {},
    "m": [{"role": "user", "content": "Hi\n"}, {"role": "assistant", "content": None, "tool_calls": [
        {"id": "x", "function": {"name": "f", "arguments": {"z": 1, "a": [True, None]}}}]}],
    "big": 12345678901234567890, "mixed": [1, "a", None, 2.5, [1], {"x": 1}, True],
    "h": "<a href='x'>&amp;</a>", "nested": {"a": {"b": {"c": [1, {"d": "deep"}]}}}}
# Written by hand, " | " between them.
WRITTEN = r"""
1 + 1 | 1.0 | 1e16 | 1e-5 | 123456789.123 | 7 // 2 | -7 // 2 | 7 % -3 | -7 % 3 | 2 ** 10 | 2 ** -1 | 7 / 2 | 1 / 3 | 1.5 // 0.5 | -1.5 % 1 | true + 1 | 'a' * 3 | 3 * 'ab' | [1] * 2
[1,2] + [3] | (1,2) | (1,) | () | {} | {'a': 1, 2: 'b'} | [none, true, 1.0, 'x'] | 'it\'s' | ["it's"] | ['"'] | ['\n\t\\x'] | 'é' | ['é', '\u200b', '\x01']
'%s and %d' % ('a', 3) | '%5.2f|%-5s|%05d|%+d' % (3.14159, 'ab', 42, 7) | '%x %X %o %e %g' % (255, 255, 8, 12345.678, 0.0001) | '%r' % 'a' | '%(a)s' % {'a': 1} | '%%' % () | '%s' % [1,2] | '%c' % 65 | '%s %s' % 'a' | 'a' % 1 | '%d' % 'x'
'abc'[::-1] | 'abc'[-1] | 'abcdef'[1:4] | 'abcdef'[::2] | 'abcdef'[-3:] | [1,2,3][::-1] | [1,2,3][-2:] | (1,2,3)[::-1] | 'abc'[10] | [1][5] | 'abc'[5:2]
'  a b '.strip() | 'xxaxx'.strip('x') | 'xxaxx'.lstrip('x') | 'xxaxx'.rstrip('x') | 'a,b,c'.split(',') | 'a,b,c'.split(',', 1) | 'a,b,c'.rsplit(',', 1) | ' a  b '.split() | 'a\nb\r\nc'.splitlines() | 'a-b'.partition('-') | 'abc'.startswith(('x','a')) | 'abc'.endswith('c') | 'aXbX'.replace('X','y',1) | 'aXbX'.count('X') | 'abc'.find('c') | 'abc'.find('z') | 'abc'.index('b') | 'abc'.index('z')
'hello world'.title() | 'hello'.capitalize() | 'hello WORLD'.swapcase() | 'abc'.center(9, '*') | 'abc'.ljust(6) ~ '|' | 'abc'.rjust(6) | '42'.zfill(5) | '-42'.zfill(5) | 'a'.isalpha() | '1'.isdigit() | 'a1'.isalnum() | 'A'.isupper() | 'a'.islower() | ' '.isspace() | 'Ab Cd'.istitle() | ','.join(['a','b']) | 'a'.join('xyz') | 'x'.removeprefix('x') | '{} {}'.format(1, 'a') | '{0:>5}|{1:<5}|{a:^7}'.format(1, 'b', a='c') | '{:.2f} {:05d} {:,} {:x} {:+}'.format(3.14159, 42, 1234567, 255, 3) | '{!r}'.format('a') | '{a.b}'.format(a={'b': 1}) | '{a[b]}'.format(a={'b': 1})
x | x.y | x.y.z | x + 1 | x ~ 'a' | x | length | x == y | x is defined | x | default('d') | not x | x in [1] | 'a' in x | x < 1 | -x | x() | x[0] | x | int | x | upper | x | join(',') | x | list | x | first | x | last | x|string | x|tojson | [x] | {'a': x} | x is none | x or 'b' | x and 'b' | (x or {}).y
d.a | d['a'] | d.items() | d.items()|list | d|items|list | d.keys()|list | d.values()|list | d.get('a') | d.get('zz') | d.get('zz', 5) | d|length | d|dictsort | d|tojson | d|tojson(indent=2) | d | string | d.zz | d.a.zz | d.update({'a': 2}) | d.pop('a') | d.copy() | 'a' in d | d == {'a': 1} | d|list | d|first | d.items | d.items is defined
l.append(1) | l|join(',') | l|map('upper')|list | l|map(attribute='x')|list | l|select('string')|list | l|reject('string')|list | l|sort | l|sort(reverse=true) | l|unique|list | l|length | l|first | l|last | l|reverse|list | l|sum | l|min | l|max | l|batch(2)|list | l|slice(2)|list | l|tojson | l.index('a') | l.count('a')
n|sum | n|sort | n|min | n|max | n|sum(start=10) | n|map('string')|join('-') | n|select('odd')|list | n|select('>', 2)|list | n|select('divisibleby', 2)|list | n|batch(2, 'x')|list | n|slice(3, 'f')|list | n|first | n|map('float')|list | n|reverse|list | n|round | n|list|length | n[1:] | n|abs
o|map(attribute='n')|list | o|map(attribute='zz')|list | o|map(attribute='zz', default='q')|list | o|selectattr('n')|list|length | o|selectattr('n', 'equalto', 'b')|list | o|rejectattr('n', 'equalto', 'b')|map(attribute='n')|list | o|groupby('g')|list | o|groupby('g')|map(attribute='list')|map('length')|list | o|sort(attribute='n')|map(attribute='n')|join | o|join('+', attribute='n') | o|sum(attribute='v') | o|unique(attribute='g')|map(attribute='n')|list | o|min(attribute='v') | o|sort(attribute='g,v', reverse=true)|map(attribute='n')|list
'3'|int | '3.7'|int | 'x'|int | 'x'|int(5) | '0x1f'|int(base=16) | 'ff'|int(0, 16) | none|int | '3.5'|float | 'x'|float | 2.5|round | 3.5|round | 2.675|round(2) | 2.1|round(0,'ceil') | 2.9|round(0, 'floor') | 1234.567|round(-2) | 5|round | true|int | 1.9|int | -1.9|int | -5|abs | '5'|abs | 1e300|int
'a b c'|wordcount | 'hello world'|title | "it's o'neil (foo) {bar} [x] <y> a-b"|title | 'HELLO'|lower | 'abc'|upper | 'hello World'|capitalize | ' x '|trim | 'xxaxx'|trim('x') | 'a\nb\n\nc'|indent | 'a\nb\n\nc'|indent(2, true) | 'a\nb\n\nc'|indent(2, blank=true) | 'a\nb'|indent('> ') | 'a\nb\n'|indent | ''|indent | 'abc'|center(9) | 'a<b>&"\''|escape | '<a>b</a>'|striptags | 'a b/c?&é'|urlencode | {'a': 'b c', 'd': 1}|urlencode | 'abc'|replace('b', 'x') | 'abc'|reverse | 'abc'|list | 'abc'|first | 'abc'|last | 'hello world foo bar'|truncate(10) | 'hello world foo bar'|truncate(10, true, '..', 0) | '%s-%s'|format('a', 1) | 123|string | 'abc'|length | 1|length | 'a'|safe + '<' | ('a'|escape) ~ '<' | 1000000|filesizeformat | 'abc'|d('x') | ''|d('x', true) | {'a': 1, 'b': none, 'c': '<'}|xmlattr | 'abc'|pprint | 'abc'|attr('upper') | 'abc'|tojson | 'é'|tojson | 'é'|tojson(ensure_ascii=true) | [1,2]|tojson(separators=(',',':')) | {'b':1,'a':2}|tojson(sort_keys=true) | [1,[2,{'a':[]}]]|tojson(indent=4) | 1.0|tojson | none|tojson | '<>&\''|tojson | [1]|tojson(indent='\t')
1 < 2 < 3 | 1 < 3 < 2 | 'a' < 'b' | [1,2] < [1,3] | 1 < 'a' | none < 1 | 1 == 1.0 | 'a' == 1 | 1 in [1.0] | 'a' in 'abc' | 1 in 'abc' | 'a' not in ['b'] | not 1 in [1] | 1 is odd | 2 is even | 4 is divisibleby 2 | 'a' is string | 1 is number | 1.0 is float | 1 is integer | true is integer | true is boolean | true is number | {} is mapping | [] is sequence | {} is sequence | 'a' is sequence | 1 is iterable | none is iterable | 'a' is iterable | x is iterable | x is sequence | none is none | 'a' is sameas 'a' | none is sameas none | 1 is in [1] | 'A' is upper | 'a' is lower | upper is callable | range is callable | x is callable | 'upper' is filter | 'defined' is test | 1 is eq 1 | 1 is ne 2 | 1 is lt 2 | 2 is ge 2 | 1 is not none | 1 is not odd | 'x' is escaped
range(3) | range(3)|list | range(1, 10, 3)|list | range(5, 0, -1)|list | range(3)[1] | range(5)[1:3] | range(1000001) | range(0) | dict(a=1) | dict([('a', 1)]) | namespace(a=1) | namespace(a=1).a | cycler('a','b').next() | joiner(',')() | 'a' if true | 'a' if false | ('a' if false) is defined | 'a' if false else 'b' | 1 if 0 else 2 if 0 else 3 | [1,2,3]|join(', ') | 'a' 'b' | 1_000 | 0x1F | 0b11 | 0o17 | .5 | 5. | 1.5e3 | 1e3 | 00 | 'a\x41\u0041' | 'a\qb'
none ~ '' | true ~ false | [1] ~ 'a' | 1.0 ~ '' | none | true | [[]] | {'a': [1, {'b': none}]} | 'a'.upper | 'a'.nope | 'a'.__class__ | [].__class__.__name__ | 1 .real | (1).bit_length() | 1.5.is_integer() | ''.join | 'abc'|map('upper')|join | [3,1,2]|sort|join | ['b','A','c']|sort|join | ['b','A','c']|sort(case_sensitive=true)|join | [1,'a']|sort | [none, 1]|sort | ['a','B','A']|unique|join | -2|abs | -2 ** 2 | 2 ** 3 ** 2 | -1|abs | not true == false | 1 + 2 ~ 3 | 1 ~ 2 + 3 | 10 - 2 - 3 | 2 * 3 % 4 | 'a' ~ 'b' * 2 | 5 // 2 * 2 | 'x' in 'xyz' and 1
undef ~ 'x' | undef is sequence | (-2) ** 2 | -2 ** i | -2 ** 2 | 'ŉ'.title() | 'ı'.casefold() | '{:{}}'.format('a', 8) | (1.5)[1:] | i[1:]
undef | attr('a') | n|truncate(9) | mixed|truncate(5) | l|indent | 'a' in undef | undef in 'a' | undef == undef | undef < 1 | [undef]|sort | [undef, 1]|sort
"""
TEMPLATES = [
    "a\r\n{% if true %}\r\nb\r\n{% endif %}\r\nc", "a\n", "a\n\n", "\n", "a\r\n\r\n", "a\rb\r", " {% if 1 %} a {%- endif %}\n b", "{#- x -#}  a", "  {# x #}\n a",
    "{% for x in n %}{{ loop.index }}{{ '-' if not loop.last }}{% endfor %}", "{% for x in [] %}a{% else %}b{% endfor %}", "{% for x in n %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in n %}{% if x == 2 %}{% break %}{% endif %}{{ x }}{% endfor %}", "{% for x in n if x > 1 %}{{ x }}{{ loop.length }}{% endfor %}", "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for x in n %}{% continue %}{% else %}else{% endfor %}", "{% set ns = namespace(x=0) %}{% for i in n %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}", "{% set x = 1 %}{% for i in n %}{% set x = i %}{% endfor %}{{ x }}",
    "{% if true %}{% set x = 1 %}{% endif %}{{ x }}", "{% with x = 1, y = x %}{{ x }}{{ y }}{% endwith %}{{ x }}", "{% set x %}a{{ i }}{% endset %}{{ x }}", "{% set x | upper | trim %} a {% endset %}[{{ x }}]",
    "{% filter upper %}a{{ s }}{% endfilter %}", "{% macro f(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ f(1) }}{{ f(1, b=3) }}{{ f() }}", "{% macro f(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, x=3) }}",
    "{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}", "{% macro f(a) %}{% endmacro %}{{ f(x=2) }}", "{% macro f() %}[{{ caller() }}]{% endmacro %}{% call f() %}in{% endcall %}", "{% macro f() %}{{ caller(1) }}{% endmacro %}{% call(x) f() %}{{ x }}{% endcall %}",
    "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "{% for x in [[1, [2]], 3] recursive %}{{ loop(x) if x is iterable else x }}{% endfor %}", "{% for x in n %}{{ loop.changed(x > 1) }}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "{% generation %}{% set x = 1 %}{{ x }}{% endgeneration %}{{ x is defined }}", "{% for x in n %}{% generation %}{{ loop.index }}{{ x }}{% endgeneration %}{% endfor %}", "{%- generation -%} a {%- endgeneration -%} b", "{% generation %}a",
    "{% raw %}{{ x }}{% endraw %}", " {%- raw -%} a {%- endraw -%} b", "{% raw %}\n a{% endraw %}\n b", "{{ {'a': {'b': 1}} }}", "{{ '}}' }}", "{{ '%}' }}{% if '%}' %}a{% endif %}", "{% if x is defined and x %}a{% elif y %}b{% else %}c{% endif %}",
    "{{ x|nosuch }}", "{% if false %}{{ x|nosuch }}{% endif %}", "{{ (x|nosuch) if false else 1 }}", "{% if false %}{% for x in n %}{{ x|nosuch }}{% endfor %}{% endif %}", "{{ 1 is nosuch }}", "{{ x is defined if y }}", "{% nosuch %}", "{% if %}", "{{ }}", "{{ 1 +",
    "{% include 'x' %}", "{% if false %}{% include 'x' %}{% endif %}a", "{% block b %}x{% endblock %}", "{% set x = 1, 2 %}{{ x }}", "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set a, b = 1, 2, 3 %}", "{% set d.x = 1 %}", "{% print 1, 2 %}", "{% autoescape false %}{{ '<' }}{% endautoescape %}",
    "{{ raise_exception('no') }}", "{{ strftime_now('%d %b %Y') }}", "{{ loop }}", "{% set n2 = namespace() %}{% set n2._x = 1 %}", "{{ cycler }}{{ ''.format }}" if False else "{{ cycler is callable }}", "{% for x in n %}{% set y = loop.index %}{% endfor %}{{ y }}",
    "{% for m_ in m[::-1] %}{{ loop.index0 }}{{ m_.role }}{% if loop.last %}{% break %}{% endif %}{% endfor %}", "{{ m[1].tool_calls[0].function.arguments | tojson }}", "{{ m[0].tool_calls | length > 0 }}", "{% for x in l|batch(2) %}{{ x }}{% endfor %}", "{% for g in o|groupby('g') %}{{ g.grouper }}{{ g.list|length }}{% endfor %}",
]

R = random.Random()


def c(items):
    return R.choice(items)


STR = lambda: c(["'a'", "''", "'Hello'", "'a,b,,c'", "' x y '", "'\\n'", "'é'", "'%s'", "'x\\ny\\n\\nz'", "\"it's\"", "'abcabc'", "'12'", "'-3.7'", "'0x1F'", "'  12 '", "'TITLE case'", "'<b>&\"'", "'a\\tb'", "'{}'", "'{0} {1}'", "'e\\u0301'", "'1_000'", "'ß'", "'ŉ'", "'\\x1c'", "'x'"])
INT = lambda: c(["0","1","2","3","-1","-2","5","10","42","100","-7","1000000","9223372036854775807"])
FLT = lambda: c(["1.5","0.0","-0.5","2.0","1e16","1e-7","3.14159","1e100","0.1","123456.789","2.5","3.5","-2.5","1e22"])
VAR = lambda: c(list(VALUES)+["undef","undef2"])
def lst(d): return "["+", ".join(expr(d-1) for _ in range(R.randint(0,4)))+"]"
def tup(d): 
    n=R.randint(0,3); return "("+", ".join(expr(d-1) for _ in range(n))+(",)" if n==1 else ")")
def dct(d): return "{"+", ".join(c([STR(),INT(),"none","true"])+": "+expr(d-1) for _ in range(R.randint(0,3)))+"}"
SM0 = "upper lower title capitalize swapcase casefold strip lstrip rstrip split rsplit splitlines isalpha isdigit isalnum islower isupper isspace istitle isnumeric isdecimal isascii isidentifier isprintable".split()
def smeth(d):
    k=R.random()
    if k<.4: return "."+c(SM0)+"()"
    return c([lambda: f".{c(['strip','lstrip','rstrip'])}({STR()})", lambda: f".{c(['split','rsplit'])}({c([STR(),'none',chr(39)+','+chr(39),chr(39)+'a'+chr(39)])}{c(['',', 1',', 0',', 2',', -1',', maxsplit=1'])})", lambda: f".splitlines({c(['true','false','keepends=true'])})",
      lambda: f".replace({STR()}, {STR()}{c(['',', 1',', 0',', -1'])})", lambda: f".{c(['find','rfind','index','rindex','count','startswith','endswith'])}({STR()}{c(['','',', 1',', -2',', 1, 3', ', none, 2'])})", lambda: f".{c(['startswith','endswith'])}(({STR()}, {STR()}))",
      lambda: f".{c(['center','ljust','rjust'])}({INTS()}{c(['',', '+STR()])})", lambda: f".zfill({INTS()})", lambda: f".join({c([expr(d-1),'l','s',lst(d)])})", lambda: f".{c(['partition','rpartition','removeprefix','removesuffix'])}({STR()})", lambda: f".expandtabs({c(['','4','0'])})",
      lambda: f".format({', '.join(expr(d-1) for _ in range(R.randint(0,3)))})"])()
INTS = lambda: c(["0","1","2","3","5","8","12","20","-1"])
def dmeth(d): return c([".items()",".keys()",".values()",".items()|list",".get('a')",".get('zz')",".get('zz', 5)",".copy()","['a']",".a",".b",".zz",".update({})",".pop('a')",".setdefault('q', 1)", "."+c(["items","keys","get"])])
def lmeth(d): return c([".index("+expr(d-1)+")",".count("+expr(d-1)+")",".append(1)","[0]","[-1]","[1:]","[::-1]","[:-1]","[::2]","[3:0:-1]","["+INTS()+"]",".copy()",".0",".sort()","[::0]","["+STR()+"]"])
def sl(): return c(["[0]","[-1]","[1:]","[::-1]","[:-1]","[::2]","[5:1:-2]","[-3:-1]","["+INTS()+":"+INTS()+"]","["+c(["",INTS()])+":"+c(["",INTS()])+":"+c(["1","-1","2","-2","3"])+"]","[99]","[:99]","[-99:]"])
TESTS0="defined undefined none boolean true false integer float lower upper string mapping number sequence iterable callable odd even escaped".split()
def test(d): return c([lambda: " is "+c(["","not "])+c(TESTS0), lambda: f" is {c(['','not '])}{c(['eq','ne','lt','gt','le','ge','equalto','==','!=','in','sameas','divisibleby'])}({expr(d-1)})" if False else f" is {c(['','not '])}{c(['eq','ne','lt','gt','le','ge','equalto','in','divisibleby'])}({expr(d-1)})", lambda: " is "+c(["divisibleby 2","eq 1","in [1,2]","in 'abc'","in d"])])()
FIL = ["abs","capitalize","count","default('d')","d('x', true)","default(1, false)","dictsort","dictsort(true)","dictsort(by='value')","dictsort(reverse=true)","e","escape","first","last","float","float(1.5)","int","int(7)","int(0,16)","int(base=2)","items","items|list","join","join(', ')","join('-', attribute='n')","join(d=', ')","length","list","lower","map('upper')|list","map('int')|list","map('string')|join('|')","map(attribute='n')|list","map(attribute='s.k.0', default='q')|list","map('length')|list","map('default', 'z')|list","map('tojson')|list","map('join', '-')|list","map('replace','a','b')|list","max","min","max(attribute='v')","min(attribute='n')","min(case_sensitive=true)","replace('a','b')","replace('a','b',1)","replace('','-')","reverse","reverse|list","round","round(1)","round(2)","round(0,'ceil')","round(1,'floor')","round(-1)","safe","select|list","select('string')|list","select('odd')|list","select('defined')|list","select('in', ['a',1])|list","select('gt', 1)|list","reject('none')|list","reject('string')|list","reject|list","selectattr('n')|list|length","selectattr('g','equalto',1)|map(attribute='n')|list","selectattr('s','defined')|list|length","selectattr('v','gt',1)|map(attribute='v')|list","rejectattr('g','eq',1)|list|length","selectattr('role','in',['user'])|map(attribute='content')|list","sort","sort(reverse=true)","sort(case_sensitive=true)","sort(attribute='v')|map(attribute='n')|list","sort(attribute='g,n')|map(attribute='n')|list","string","sum","sum(attribute='v')","sum(start=5)","title","trim","trim('a')","trim(' x')","upper","urlencode","unique|list","unique(true)|list","unique(attribute='g')|map(attribute='n')|list","wordcount","tojson","tojson(indent=2)","tojson(sort_keys=true)","tojson(ensure_ascii=true)","tojson(separators=(',',':'))","tojson(indent=0)","tojson(indent='--')","indent","indent(2)","indent(2,true)","indent(3,false,true)","indent(width='> ')","indent(first=true)","batch(2)|list","batch(3,'x')|list","slice(2)|list","slice(3,'y')|list","center(20)","truncate(8)","truncate(5,true)","truncate(6,false,'..',0)","groupby('g')|list","groupby('n')|map(attribute='grouper')|list","attr('upper')","attr('a')","striptags","filesizeformat","format(1)","format('a','b')","format(x=1)","xmlattr","forceescape","pprint","wordcount","first|upper","last|string","length|string","list|last","nosuch"]
def bino(): return c(["+","-","*","/","//","%","**","~","==","!=","<",">","<=",">=","and","or","in","not in"])
def expr(d):
    if d<=0: return c([STR,INT,FLT,VAR,VAR,VAR,lambda:c(["none","true","false"])])()
    k=R.random()
    if k<.12: return expr(0)
    if k<.32: return "("+expr(d-1)+")|"+c(FIL) if R.random()<.5 else VAR()+"|"+c(FIL)
    if k<.42: return c([STR(),"s","u","t","("+expr(d-1)+")"])+smeth(d)
    if k<.48: return c([STR(),"s","u","l","n","mixed","("+expr(d-1)+")"])+sl()
    if k<.53: return c(["d","ed","o[0]","m[1]","nested","nested.a.b",dct(d)])+dmeth(d)
    if k<.57: return c(["l","n","mixed","e",lst(d)])+lmeth(d)
    if k<.72: return "("+expr(d-1)+") "+bino()+" ("+expr(d-1)+")" if R.random()<.5 else expr(d-1)+" "+bino()+" "+expr(d-1)
    if k<.79: return ("("+expr(d-1)+")" if R.random()<.5 else VAR())+test(d)
    if k<.83: return c(["not ","-","+"])+"("+expr(d-1)+")"
    if k<.86: return expr(d-1)+" if "+expr(d-1)+c([" else "+expr(d-1),""])
    if k<.90: return c([lst,tup,dct])(d)
    if k<.95: return c(["'%s'","'%d'","'%5.2f'","'%r'","'%s-%s'","'%(a)s'","'%-6s|'","'%06d'","'%x'","'%+.3e'","'%g'","'%c'","'%%'","'%5s%%'","'%i'","'%.2s'","'%#x'","'% d'","'%*d'","'%G'","'%o'","'%X'","'%a'"])+" % "+c([expr(d-1),tup(d),"d","("+expr(d-1)+")"])
    if k<.98: return c(["'{}'","'{:>8}'","'{:<8}|'","'{:^9}'","'{:*^9}'","'{:.2f}'","'{:d}'","'{:05d}'","'{:,}'","'{:_}'","'{!r}'","'{:x}'","'{:#x}'","'{:+}'","'{:e}'","'{:.3g}'","'{:%}'","'{:.3}'","'{:s}'","'{:b}'","'{0}{0}'","'{0[0]}'","'{0.a}'","'{a}'","'{:{}}'","'{{}}'","'{:010.3f}'","'{:=+8}'","'{:,.2f}'","'{:c}'","'{: }'","'{:n}'","'{:G}'"])+".format("+c([expr(d-1),expr(d-1)+", "+INTS(),"a="+expr(d-1)])+")"
    return c([f"range({INTS()})|list",f"range({INTS()},{INTS()})|list",f"range({INTS()},{INTS()},{c(['1','-1','2'])})|list","dict(a=1)","dict(d, z=2)","namespace(a=1).a",f"range({INTS()})","dict([('a',1)])","cycler(1,2).next()"])


WS=lambda: c(["",""," ","\n","\n  ","  \n","\t","a","b \n"])
def open_(): return c(["{%","{%","{%-","{%+"])
def close_(): return c(["%}","%}","-%}","%}\n","%}\n  "])
def tag(t): return WS()+open_()+c([" ",""," \n"])+t+c([" ",""])+close_()+WS()
def e(d=1):
    if R.random()<.85: return c(["x","y","z","x|default('?')","loop.index if loop is defined else 'n'","loop.first if loop is defined","(loop.last,loop.length) if loop is defined","loop.previtem|default('p') if loop","loop.nextitem|default('p') if loop","loop.cycle('a','b') if loop","loop.changed(x) if loop","(loop.revindex, loop.depth, loop.revindex0, loop.depth0) if loop","ns.a if ns","ns.b if ns","caller() if caller","kwargs|default('k')","varargs|default('k')","f(1) if f","f(x, y=2) if f","f() if f","g(x) if g","x.role if x is mapping","x|string|length","l","n","d","i","k","v|default(2)","'s'","1","[x,y]","x == y","x is defined and y is not defined","loop is defined","ns is defined","f is defined","f.name if f","not x","a","b","a ~ b","x ~ y ~ z","loop|string if loop", "1 if false", "loop(x) if loop and false", "x in n", "namespace(a=1)","range(3)"])

    k=R.random()
    if k<.35: return c(["loop.index","loop.index0","loop.first","loop.last","loop.length","loop.revindex","loop.previtem","loop.nextitem","loop.cycle('a','b')","loop.changed(x)","loop.depth","ns.a","ns.b","x","y","z","caller()","kwargs","varargs","f(1)","f(x, y=2)","f()","g(x)","x.role","loop","namespace(a=1)","x if y","y is defined","x|default('?')","ns"])
    return expr(d)
def out(): return WS()+c(["{{","{{-"])+" "+e()+" "+c(["}}","-}}"])+WS()
def stmt(d):
    if d<=0: return c([out,out,lambda:WS(),lambda:"{#"+c(["","-"," x "])+"#}"])()
    k=R.random(); b=lambda:"".join(stmt(d-1) for _ in range(R.randint(0,3))); a_macro=lambda: tag("macro "+c(["f(a, b=2)","f(x, y='q')","f(x=1, y=2)"]))+b()+tag("endmacro")
    if k<.2: return out()
    if k<.4: return tag("if "+e())+b()+(tag("elif "+e())+b() if R.random()<.3 else "")+(tag("else")+b() if R.random()<.5 else "")+tag("endif")
    if k<.62: return tag("for "+c([c(["x","y"])+" in "+c(["n","l","o","m","d","range(3)","[1,2,3]","[]","s.split()","undef","l[:2]","m[::-1]","n|select('odd')"]),c(["k, v","x, y"])+" in "+c(["d.items()","[[1,2],[3,4]]","d|dictsort","o|map('list')|map('first', )|map('list')" if False else "[(1,'a')]"])])+c(["","",""," if x"," if y is not defined"," if loop"," if not ns.a"]))+b()+c(["",tag("break") if R.random()<.5 else tag("continue"),tag("if x == 1")+tag("break")+tag("endif")] )+(tag("else")+b() if R.random()<.3 else "")+tag("endfor")
    if k<.74: return tag("set "+c(["x = "+e(),"y = "+e(),"z = "+e(),"x, y = 1, "+e(),"ns.a = "+e(),"ns = namespace(a=1, b=[])","x = (1, 2)","x = 1, 2"]))
    if k<.79: return tag(c(["set x","set y | upper","set z | trim"]))+b()+tag("endset")
    if k<.84: return tag("with "+c(["x = 1","x = "+e()+", y = x",""]))+b()+tag("endwith")
    if k<.9: return tag("macro "+c(["f(a, b=2)","f(x, y='q')","g(x=1)","f()","g(x, caller=none)"]))+b()+tag("endmacro")
    if k<.93: return (a_macro() if R.random()<.7 else "")+tag("call "+c(["f(1)","f()","g(x)","g()","(f or g)(1)"]) if R.random()<.8 else "call(q) f(2)")+b()+tag("endcall")
    if k<.96: return tag("generation")+b()+tag("endgeneration")
    if k<.98: return tag("filter "+c(["upper","trim","indent(2)","replace('a','b')|title"]))+b()+tag("endfilter")
    return tag("raw")+c(["{{ x }}"," {% if %} ","\n a \n"])+tag("endraw")


def draw(seed, expressions, templates):
    R.seed(seed)
    sources = ["{{ " + expr(R.randint(1, 3)) + " }}" for _ in range(expressions)]
    return sources + ["".join(stmt(R.randint(1, 3)) for _ in range(R.randint(1, 4))) for _ in range(templates)]


def outcome(source):
    signal.alarm(2)  # Python's integers have no limit: 9 ** 9 ** 9.
    try:
        return jinja_at(NOW)(source).render(**copy.deepcopy(VALUES))
    except Exception:
        return None
    finally:
        signal.alarm(0)


def give_up(*_):
    raise TimeoutError


# Results that depend on the process, and those that ours refuses by name: random choices, larger integers than 127
# bits.
UNSUITED = re.compile(r" at 0x|\d{37}")


def suited(source, text):
    return len(source) <= LENGTH_MAX and (text is None or (len(text) <= LENGTH_MAX and not UNSUITED.search(text)))


def main():
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, give_up)
    if len(sys.argv) > 2:
        for source in draw(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[2])):
            print(json.dumps([source, outcome(source)], ensure_ascii=False))
        return
    by_hand = ["{{ " + each + " }}" for line in WRITTEN.strip().split("\n") for each in line.split(" | ")] + TEMPLATES
    cases = [[source, outcome(source)] for source in by_hand]
    refused = 0
    for source in draw(SEED, 6 * EXPRESSIONS_DRAWN, 6 * TEMPLATES_DRAWN):
        text = outcome(source)
        is_template = "{%" in source
        kept = sum(("{%" in each[0]) == is_template for each in cases[len(by_hand):])
        if not suited(source, text) or kept >= (TEMPLATES_DRAWN if is_template else EXPRESSIONS_DRAWN):
            continue
        refused += text is None
        if text is not None or refused % 4 == 0:  # Refusals teach less.
            cases.append([source, text])
    cases = [case for case in cases if suited(*case)]
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    path = pathlib.Path(__file__).with_name("chat_expressions.json")
    path.write_text('{"now_unix_seconds": %d,\n"values": %s,\n"cases": [\n%s\n]}\n' % (
        NOW, json.dumps(VALUES, ensure_ascii=False), lines), encoding="utf-8")
    print(f"{len(cases)} cases, {sum(text is None for _, text in cases)} of which Jinja2 refuses")


if __name__ == "__main__":
    main()
