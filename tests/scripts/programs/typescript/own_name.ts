import { out } from "./out.ts";
enum Mode { Mode = 1, Other } out(Mode.Mode, Mode.Other, Mode[1]);
