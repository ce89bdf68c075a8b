import { session } from "quire";
import { lines } from "./out.ts";

// One after the other, because some of them wait.
export default async function program() {
  await import("./namespaces.ts");
  await import("./own_name.ts");
  await import("./enums.ts");
  await import("./enum_values.ts");
  await import("./merged_namespaces.ts");
  await import("./nested_namespaces.ts");
  await import("./namespaces_of_types.ts");
  await import("./namespace_own_name.ts");
  await import("./merged_with_others.ts");
  await import("./aliases.ts");
  await import("./no_semicolons.ts");
  await import("./operators.ts");
  await import("./variables.ts");
  await import("./shadowed_names.ts");
  await import("./functions.ts");
  await import("./classes.ts");
  await import("./types.ts");
  await import("./soft_keywords.ts");
  await import("./texts.ts");
  await import("./empty_first.ts");
  session.send(lines.join("\n") + "\n");
}
