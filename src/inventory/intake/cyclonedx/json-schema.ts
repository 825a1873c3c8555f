import { canonicalJson } from '../../../platform/json/canonical-json.js';
import { isDate, isDateTime } from '../../model/date-time.js';
import { isMembers, type JsonMembers } from '../../model/json.js';
import type { SchemaFaults } from './schema-faults.js';

/** SchemaCheck validates a value and adds its faults to `found`. @returns true if the value is valid */
export type SchemaCheck = (value: unknown, found: SchemaFaults) => boolean;
export type Schema = boolean | { readonly [keyword: string]: unknown };

const MAX_DEPTH = 200;

/**
 * SchemaCompiler compiles schemas into checks that take time linear in the size of the value. It supports the part of JSON Schema draft-07 that the CycloneDX
 * schemas use. `uniqueItems` uses a hash set, whereas common validators compare every pair of items.
 */
export class SchemaCompiler {
  private readonly compiled = new Map<unknown, SchemaCheck>();
  private readonly documents = new Map<string, Schema>();

  /** @param read returns the schema with the given `$id` */
  constructor(private readonly read: (id: string) => Schema) {}

  compile(id: string): SchemaCheck {
    return this.check(this.document(id), id);
  }

  /** Compiles the check of one item in a list. The check does not cover the list's `uniqueItems`. */
  compileItem(id: string, list: string): SchemaCheck {
    const { properties } = this.document(id) as { properties: Record<string, { items: Schema }> };
    return this.check(properties[list]?.items ?? true, id);
  }

  private check(schema: Schema, base: string): SchemaCheck {
    if (schema === true) return () => true;
    if (schema === false) return (_value, found) => found.add('is not allowed here');
    const known = this.compiled.get(schema);
    if (known !== undefined) return known;
    const built = this.build(schema, base);
    this.compiled.set(schema, built);
    return built;
  }

  private build(schema: JsonMembers, base: string): SchemaCheck {
    if (typeof schema['$ref'] === 'string') return this.reference(schema['$ref'], base);
    const checks = [
      ...scalarChecks(schema),
      ...this.arrayChecks(schema, base),
      ...this.objectChecks(schema, base),
      ...this.combined(schema, base),
    ];
    const ofType = typeCheck(schema['type']);
    if (checks.length === 0) return ofType;
    return (value, found) => {
      if (found.path.length > MAX_DEPTH) return found.add(`is nested deeper than ${MAX_DEPTH} levels`);
      if (!ofType(value, found)) return false;
      let good = true;
      for (const check of checks) if (!check(value, found)) good = false;
      return good;
    };
  }

  /** Resolves a reference on first use, because documents use only a small part of a schema, and schemas refer to themselves. */
  private reference(ref: string, base: string): SchemaCheck {
    let check: SchemaCheck | undefined;
    return (value, found) => (check ??= this.target(ref, base))(value, found);
  }

  private target(ref: string, base: string): SchemaCheck {
    const url = new URL(ref, base);
    const id = url.href.split('#')[0] ?? base;
    const target = decodeURIComponent(url.hash.slice(1))
      .split('/')
      .slice(1)
      .reduce<unknown>((at, part) => (at as JsonMembers)[part], this.document(id));
    return this.check(target as Schema, id);
  }

  private document(id: string): Schema {
    const known = this.documents.get(id);
    if (known !== undefined) return known;
    const document = this.read(id);
    this.documents.set(id, document);
    return document;
  }

  private arrayChecks(schema: JsonMembers, base: string): SchemaCheck[] {
    const checks: SchemaCheck[] = [];
    const { items, uniqueItems, minItems, maxItems } = schema;
    if (items !== undefined && !Array.isArray(items)) {
      const each = this.check(items as Schema, base);
      checks.push((value, found) => !Array.isArray(value) || everyItem(value, () => each, found));
    }
    if (Array.isArray(items)) {
      const each = items.map((item) => this.check(item as Schema, base));
      const beyond = this.check((schema['additionalItems'] ?? true) as Schema, base);
      checks.push((value, found) => !Array.isArray(value) || everyItem(value, (i) => each[i] ?? beyond, found));
    }
    if (uniqueItems === true) checks.push((value, found) => !Array.isArray(value) || noneTwice(value, found));
    if (typeof minItems === 'number')
      checks.push(
        (v, found) => !Array.isArray(v) || v.length >= minItems || found.add(`must have at least ${minItems} items`),
      );
    if (typeof maxItems === 'number')
      checks.push(
        (v, found) => !Array.isArray(v) || v.length <= maxItems || found.add(`must have at most ${maxItems} items`),
      );
    return checks;
  }

  private objectChecks(schema: JsonMembers, base: string): SchemaCheck[] {
    const checks: SchemaCheck[] = [];
    if (Array.isArray(schema['required'])) {
      const required = schema['required'] as string[];
      checks.push((value, found) => !isMembers(value) || allThere(value, required, found));
    }
    const rest = schema['additionalProperties'];
    if (schema['properties'] === undefined && rest === undefined) return checks;
    const members = new Map(
      Object.entries((schema['properties'] ?? {}) as Record<string, Schema>).map(([name, part]) => [
        name,
        this.check(part, base),
      ]),
    );
    const other = rest === undefined ? undefined : this.check(rest === false ? false : (rest as Schema), base);
    checks.push((value, found) => !isMembers(value) || everyMember(value, members, other, found));
    return checks;
  }

  private combined(schema: JsonMembers, base: string): SchemaCheck[] {
    const checks: SchemaCheck[] = [];
    const all = (name: string) => (schema[name] as Schema[]).map((part) => this.check(part, base));
    if (schema['allOf'] !== undefined) checks.push(...all('allOf'));
    if (schema['anyOf'] !== undefined) checks.push(choice(all('anyOf'), false));
    if (schema['oneOf'] !== undefined) checks.push(choice(all('oneOf'), true));
    if (schema['not'] !== undefined) {
      const not = this.check(schema['not'] as Schema, base);
      checks.push((value, found) => !not(value, found.branch()) || found.add('is not allowed in this form'));
    }
    if (schema['if'] !== undefined) {
      const condition = this.check(schema['if'] as Schema, base);
      const then = this.check((schema['then'] ?? true) as Schema, base);
      const otherwise = this.check((schema['else'] ?? true) as Schema, base);
      checks.push((value, found) => (condition(value, found.branch()) ? then : otherwise)(value, found));
    }
    return checks;
  }
}

function everyItem(list: unknown[], checkAt: (index: number) => SchemaCheck, found: SchemaFaults): boolean {
  let good = true;
  for (let index = 0; index < list.length; index += 1) {
    found.path.push(index);
    if (!checkAt(index)(list[index], found)) good = false;
    found.path.pop();
  }
  return good;
}

function noneTwice(list: unknown[], found: SchemaFaults): boolean {
  if (list.length < 2) return true;
  // Only items with the same name are compared completely, because items with different names cannot be equal.
  const [names, shared] = [new Set<string>(), new Set<string>()];
  for (const item of list) {
    const name = schemaNameOf(item);
    const before = names.size;
    if (names.add(name).size === before) shared.add(name);
  }
  if (shared.size === 0) return true;
  const seen = new Set<string>();
  let good = true;
  for (const [index, item] of list.entries()) {
    if (!shared.has(schemaNameOf(item))) continue;
    const text = canonicalJson(item);
    if (seen.has(text)) good = found.addDuplicate(list, index);
    seen.add(text);
  }
  return good;
}

/** schemaNameOf returns the name of an item. Items with different names cannot be equal. */
export function schemaNameOf(item: unknown): string {
  if (!isMembers(item)) return typeof item === 'string' ? item : '';
  const name = item['bom-ref'] ?? item['ref'] ?? item['name'];
  return typeof name === 'string' ? name : '';
}

function allThere(value: JsonMembers, required: readonly string[], found: SchemaFaults): boolean {
  let good = true;
  for (const name of required) if (!Object.hasOwn(value, name)) good = found.add(`"${name}" is missing`);
  return good;
}

function everyMember(
  value: JsonMembers,
  members: ReadonlyMap<string, SchemaCheck>,
  other: SchemaCheck | undefined,
  found: SchemaFaults,
): boolean {
  let good = true;
  for (const name in value) {
    const check = members.get(name) ?? other;
    if (check === undefined) continue;
    found.path.push(name);
    if (!check(value[name], found)) good = false;
    found.path.pop();
  }
  return good;
}

/** Checks anyOf and oneOf. If no branch is valid, reports the faults of the branch with the deepest fault. */
function choice(checks: readonly SchemaCheck[], exactlyOne: boolean): SchemaCheck {
  return (value, found) => {
    let fits = 0;
    let nearest: SchemaFaults | undefined;
    for (const check of checks) {
      const branch = found.branch();
      if (check(value, branch)) {
        fits += 1;
        if (!exactlyOne) return true;
      } else if (nearest === undefined || branch.deepest > nearest.deepest) nearest = branch;
    }
    if (fits === 1) return true;
    if (fits > 1) return found.add('matches more than one of the mutually exclusive forms');
    if (nearest !== undefined) found.take(nearest);
    return false;
  };
}

const TYPES: Record<string, (value: unknown) => boolean> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  object: isMembers,
  array: Array.isArray,
  null: (value) => value === null,
};

function typeCheck(type: unknown): SchemaCheck {
  if (type === undefined) return () => true;
  const names = (Array.isArray(type) ? type : [type]) as string[];
  const tests = names.map((name) => TYPES[name] ?? (() => false));
  const wanted = names.join(' or ');
  const [only] = tests;
  if (only !== undefined && tests.length === 1)
    return (value, found) => only(value) || found.add(`must be of type ${wanted}`);
  return (value, found) => tests.some((test) => test(value)) || found.add(`must be of type ${wanted}`);
}

function scalarChecks(schema: JsonMembers): SchemaCheck[] {
  const { enum: allowed, const: constant, pattern, format, minimum, maximum, minLength, maxLength } = schema;
  const checks: SchemaCheck[] = [];
  if (Array.isArray(allowed)) {
    const set = new Set<unknown>(allowed);
    const names = allowed.length > 24 ? 'one of the values that the schema lists' : `one of ${allowed.join(', ')}`;
    checks.push((value, found) => set.has(value) || found.add(`must be ${names}`));
  }
  if (constant !== undefined)
    checks.push((value, found) => value === constant || found.add(`must be ${JSON.stringify(constant)}`));
  const text = (test: (value: string) => boolean, detail: string) =>
    checks.push((value, found) => typeof value !== 'string' || test(value) || found.add(detail));
  if (typeof pattern === 'string') {
    const expression = new RegExp(pattern, 'u');
    text((value) => expression.test(value), `must match ${pattern}`);
  }
  if (typeof format === 'string') text((value) => matchesFormat(format, value), `must be a ${format}`);
  if (typeof minLength === 'number')
    text((value) => value.length >= minLength, `must have at least ${minLength} characters`);
  if (typeof maxLength === 'number')
    text((value) => value.length <= maxLength, `must have at most ${maxLength} characters`);
  if (typeof minimum === 'number')
    checks.push((v, found) => typeof v !== 'number' || v >= minimum || found.add(`must be at least ${minimum}`));
  if (typeof maximum === 'number')
    checks.push((v, found) => typeof v !== 'number' || v <= maximum || found.add(`must be at most ${maximum}`));
  return checks;
}

const EMAIL = /^[^\s@]{1,64}@[^\s@]{1,255}$/;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const NO_IRI = /[\s<>"{}|\\^`]/;

/** Checks the formats that the CycloneDX schemas use. An unknown format is an annotation (JSON Schema draft-07, section 7.1). */
function matchesFormat(format: string, text: string): boolean {
  switch (format) {
    case 'date-time':
      return isDateTime(text);
    case 'date':
      return isDate(text);
    case 'email':
    case 'idn-email':
      return EMAIL.test(text);
    case 'uri':
    case 'iri':
      return SCHEME.test(text) && !NO_IRI.test(text);
    case 'uri-reference':
    case 'iri-reference':
      return !NO_IRI.test(text);
    default:
      return true;
  }
}
