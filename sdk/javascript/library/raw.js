// The module "quire/raw": the calls of interface/*.wit, one to one.
import native from "quire:native";

export default native.raw;
