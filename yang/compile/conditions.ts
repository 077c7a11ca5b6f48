// `must`, `when` and the `path` of a leafref: the expression, read once, with the prefixes of the module it stands in.
import { argument, definition, type ModuleSet, type Scope, text } from './modules.ts';
import { type Statement, YangError } from './reader.ts';
import type { Condition } from './schema.ts';
import { type Expression, parseXPath, XPathError } from './xpath.ts';

/** Reads the XPath argument of a statement. Throws `YangError` naming what is not taken. */
export function parseExpression(statement: Statement, scope: Scope, modules: ModuleSet): Expression {
  const identity = (reference: string): readonly string[] | undefined => {
    const colon = reference.indexOf(':');
    const prefix = reference.slice(0, Math.max(0, colon));
    if (colon >= 0 && prefix !== scope.module.prefix && !scope.module.imports.has(prefix)) return undefined;
    const { module, name } = modules.prefixed(reference, statement, scope.module);
    if (definition(module.statements, 'identity', name) === undefined) return undefined;
    return [name, ...modules.derived(module, name)];
  };
  try {
    return parseXPath(argument(statement), {
      prefix: (prefix) => void modules.prefixed(`${prefix}:x`, statement, scope.module),
      literal: (literal) => (/^[\w.-]+:[\w.-]+$/.test(literal) ? (identity(literal)?.[0] ?? literal) : literal),
      derived: (reference) => {
        const found = identity(reference);
        if (found === undefined) throw new YangError(statement, `identity "${reference}" is not defined`);
        modules.spend(statement, found.length);
        return found;
      },
    });
  } catch (cause) {
    if (cause instanceof XPathError) throw new YangError(statement, `XPath: ${cause.message}`);
    throw cause;
  }
}

/** Every `keyword` (`must`, `when`) of a statement. `above`: the expression is evaluated at the node's parent. */
export function conditions(
  of: Statement,
  keyword: string,
  scope: Scope,
  modules: ModuleSet,
  above = false,
): readonly Condition[] {
  return of.children
    .filter((statement) => statement.keyword === keyword)
    .map((statement) => {
      modules.spend(statement);
      const message = text(statement, 'error-message');
      return {
        source: argument(statement).replaceAll(/\s+/g, ' ').trim(),
        expression: parseExpression(statement, scope, modules),
        ...(message === undefined ? {} : { message: message.replaceAll(/\s+/g, ' ').trim() }),
        ...(above ? { above } : {}),
      };
    });
}

/** RFC 7950 §9.9.2: a leafref's path, without prefixes, and as an expression. */
export function parsePath(
  statement: Statement,
  scope: Scope,
  modules: ModuleSet,
): { readonly path: string; readonly steps: Expression } {
  const steps = parseExpression(statement, scope, modules);
  if (steps.kind !== 'path' || typeof steps.from !== 'string') {
    if (steps.kind !== 'path' || steps.from === 'here' || steps.from === 'root' || !isDeref(steps.from)) {
      throw new YangError(statement, 'is no path');
    }
  }
  modules.keepPath(steps, statement);
  return {
    path: argument(statement)
      .replaceAll(/\s+/g, '')
      .replaceAll(/[A-Za-z_][\w.-]*:(?!:)/g, ''),
    steps,
  };
}

function isDeref(expression: Expression): boolean {
  return expression.kind === 'call' && expression.name === 'deref';
}
