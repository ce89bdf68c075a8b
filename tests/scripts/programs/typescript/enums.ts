import { out } from "./out.ts";
enum A { X, Y = 5, Z } enum S { A = "a", B = A, C = `t`, D = "x" + "y" }
const enum K { P = 1 << 3, Q, R = P | Q } enum W { "a-b" = 2, default, "ok", n = default_() } function default_(){return 7}
out(A, S, K.R, W, A[5]); enum A2 { A = 1 } enum A2 { B = A, C = B + 1 } out(A2);
