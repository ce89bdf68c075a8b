// When the program was launched, from where times count.
import native from "quire:native";

const { now } = native.runtime;
let launchedAt = 0;
native.engine.setBegin(() => {
  launchedAt = now();
});

export const sinceLaunch = () => now() - launchedAt;
