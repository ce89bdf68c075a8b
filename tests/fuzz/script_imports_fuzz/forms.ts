#!/usr/bin/env quire
import a, { b as c, type D } from "./x.js" with { type: "json" };
export * as e from "./y.js"; import type F from "./z";
if (a) /`/.test(c); const t = `x ${{ b: `${c / 2}` }} /`; export const n = a++ / 2;
const { x } = await import(`./later.js`);
