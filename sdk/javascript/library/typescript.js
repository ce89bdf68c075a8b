// JavaScript of TypeScript: typescript_values.js rewrites what has values, sucrase takes the types
// away, and both keep the lines.
import native from "quire:native";
import { parse } from "quire:sucrase/parser/index.js";
import { HelperManager } from "quire:sucrase/HelperManager.js";
import identifyShadowedGlobals from "quire:sucrase/identifyShadowedGlobals.js";
import NameManager from "quire:sucrase/NameManager.js";
import TokenProcessor from "quire:sucrase/TokenProcessor.js";
import RootTransformer from "quire:sucrase/transformers/RootTransformer.js";
import getTSImportedNames from "quire:sucrase/util/getTSImportedNames.js";
import { refusalOf, withoutTypeScriptValues } from "quire:library/typescript_values.js";

const options = { transforms: ["typescript"], disableESTransforms: true };

function withoutTypes(source, { tokens, scopes }) {
  const nameManager = new NameManager(source, tokens);
  const helperManager = new HelperManager(nameManager);
  const tokenProcessor = new TokenProcessor(source, tokens, false, true, helperManager);
  identifyShadowedGlobals(tokenProcessor, scopes, getTSImportedNames(tokenProcessor));
  const context = { tokenProcessor, scopes, nameManager, importProcessor: null, helperManager };
  return new RootTransformer(context, options.transforms, false, options).transform().code;
}

const parsed = (text) => parse(text, false, true, false);

function transformed(source) {
  const text = withoutTypeScriptValues(source, parsed(source));
  return withoutTypes(text, parsed(text));
}

export function strip(source, path) {
  try {
    return transformed(source);
  } catch (error) {
    if (error.loc === undefined) throw error;
    const { message, loc: { line, column } } = refusalOf(source, error, () => parse(source, true, true, false));
    const refused = new SyntaxError(message.replace(/ \(\d+:\d+\)$/, ""));
    refused.stack = `${refused}\n    at ${path}:${line}:${column}\n`;
    throw refused;
  }
}
native.engine.setTypeStripper(strip);
