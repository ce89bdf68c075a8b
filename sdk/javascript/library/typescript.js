// JavaScript of TypeScript: sucrase takes the types away and keeps the lines.
import native from "quire:native";
import { parse } from "quire:sucrase/parser/index.js";
import { HelperManager } from "quire:sucrase/HelperManager.js";
import identifyShadowedGlobals from "quire:sucrase/identifyShadowedGlobals.js";
import NameManager from "quire:sucrase/NameManager.js";
import TokenProcessor from "quire:sucrase/TokenProcessor.js";
import RootTransformer from "quire:sucrase/transformers/RootTransformer.js";
import getTSImportedNames from "quire:sucrase/util/getTSImportedNames.js";

const options = { transforms: ["typescript"], disableESTransforms: true };

function transformed(source) {
  const { tokens, scopes } = parse(source, false, true, false);
  const nameManager = new NameManager(source, tokens);
  const helperManager = new HelperManager(nameManager);
  const tokenProcessor = new TokenProcessor(source, tokens, false, true, helperManager);
  identifyShadowedGlobals(tokenProcessor, scopes, getTSImportedNames(tokenProcessor));
  const context = { tokenProcessor, scopes, nameManager, importProcessor: null, helperManager };
  return new RootTransformer(context, options.transforms, false, options).transform().code;
}

export function strip(source, path) {
  try {
    return transformed(source);
  } catch (error) {
    if (error.loc === undefined) throw error;
    const { line, column } = error.loc;
    const refused = new SyntaxError(error.message.replace(/ \(\d+:\d+\)$/, ""));
    refused.stack = `    at ${path}:${line}:${column}\n`;
    throw refused;
  }
}
native.engine.setTypeStripper(strip);
