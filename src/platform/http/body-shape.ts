import { getMetadataStorage, IS_OPTIONAL, ValidationError, ValidationTypes } from 'class-validator';
import { pointerStep } from '../json/json-pointer.js';

const NULLABLE = Symbol('nullable');
/** Name of the rule in shape errors. */
export const SHAPE = 'shape';
export const MISSING = 'is required';

/** Nullable allows null for a property. A caller sends null to remove the value. Other properties reject null. */
export function Nullable(): PropertyDecorator {
  return (target, name) => Reflect.defineMetadata(NULLABLE, true, target, name);
}

interface Member {
  readonly name: string;
  readonly isOptional: boolean;
  readonly isNullable: boolean;
  /** Whether a condition determines if the member is validated. */
  readonly isConditional: boolean;
  /** Set if the value has its own class: one object, or a list of objects. */
  readonly nested: 'one' | 'many' | undefined;
}

/**
 * shapeErrors finds values that class-validator accepts but services do not expect: null for an optional member, a missing object, a list instead of an object,
 * and nested lists.
 */
export function shapeErrors(body: object): ValidationError[] {
  return membersOf(body).flatMap((member) => errorsOf(member, (body as Record<string, unknown>)[member.name]));
}

/** unknownMembers yields the pointers of members that the class of an object does not declare, including members of nested objects. */
export function* unknownMembers(body: object, at = ''): Generator<string, undefined> {
  const members = membersOf(body);
  const names = new Set(members.map(({ name }) => name));
  for (const name of Object.keys(body)) if (!names.has(name)) yield `${at}/${pointerStep(name)}`;
  for (const { name, nested } of members) {
    const value = nested === undefined ? undefined : (body as Record<string, unknown>)[name];
    for (const [step, item] of Array.isArray(value) ? value.entries() : [[undefined, value] as const])
      if (typeof item === 'object' && item !== null && !Array.isArray(item))
        yield* unknownMembers(item as object, `${at}/${name}${step === undefined ? '' : `/${step}`}`);
  }
}

function errorsOf(member: Member, value: unknown): ValidationError[] {
  if (value === undefined || value === null) {
    const fault = faultOfNothing(member, value);
    return fault === undefined ? [] : [errorAt(member.name, fault)];
  }
  if (member.nested === 'one') return errorsWithin(member.name, value);
  if (member.nested === 'many' && Array.isArray(value)) {
    const children = value.flatMap((item: unknown, i) => errorsWithin(String(i), item));
    return children.length === 0 ? [] : [errorAt(member.name, undefined, children)];
  }
  return [];
}

function faultOfNothing({ isOptional, isNullable, isConditional, nested }: Member, value: unknown): string | undefined {
  if (value === null && isOptional && !isNullable) return 'must not be null; omit it';
  return value === undefined && nested !== undefined && !isConditional ? MISSING : undefined;
}

function errorsWithin(name: string, value: unknown): ValidationError[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [errorAt(name, 'must be an object')];
  const children = shapeErrors(value);
  return children.length === 0 ? [] : [errorAt(name, undefined, children)];
}

function errorAt(property: string, fault: string | undefined, children: ValidationError[] = []): ValidationError {
  const constraints = fault === undefined ? {} : { [SHAPE]: fault };
  return Object.assign(new ValidationError(), { property, constraints, children });
}

const known = new Map<unknown, Member[]>();

/** Returns the members of an object's class. The result is cached by class, because the rules of a class do not change. */
function membersOf(body: object): Member[] {
  const type = body.constructor;
  const members = known.get(type) ?? readMembers(type);
  known.set(type, members);
  return members;
}

function readMembers(type: object & { prototype?: object }): Member[] {
  const storage = getMetadataStorage();
  const rules = storage.groupByPropertyName(storage.getTargetValidationMetadatas(type as never, '', false, false));
  return Object.entries(rules).map(([name, own]) => {
    const nested = own.find(({ type: rule }) => rule === ValidationTypes.NESTED_VALIDATION);
    return {
      name,
      isOptional: own.some((rule) => rule.name === IS_OPTIONAL),
      isNullable: Reflect.getMetadata(NULLABLE, type.prototype ?? {}, name) === true,
      isConditional: own.some(({ type: rule }) => rule === ValidationTypes.CONDITIONAL_VALIDATION),
      nested: nested === undefined ? undefined : nested.each ? 'many' : 'one',
    };
  });
}
