import { ValidationPipe } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, validate, type ValidationError, type ValidatorOptions } from 'class-validator';
import { MISSING, SHAPE, shapeErrors, unknownMembers } from './body-shape.js';
import { type Fault, Problem } from '../errors/problem.js';
import { pointerStep } from '../json/json-pointer.js';

const UNKNOWN = 'unknown field';
const RULES = { whitelist: true, forbidNonWhitelisted: true };

rememberRulesOfClasses();

/**
 * Makes class-validator cache the rules of a class, which never change. Without the cache, class-validator searches the rules of all classes for every
 * object.
 */
function rememberRulesOfClasses(): void {
  const storage = getMetadataStorage();
  const search = storage.getTargetValidationMetadatas.bind(storage);
  const known = new WeakMap<object, ReturnType<typeof search>>();
  storage.getTargetValidationMetadatas = (type, schema, always, strictGroups, groups) => {
    const isUsual = !schema && !always && !strictGroups && groups === undefined;
    const rules = (isUsual ? known.get(type) : undefined) ?? search(type, schema, always, strictGroups, groups);
    if (isUsual) known.set(type, rules);
    return rules;
  };
}

/** Returns the errors according to the rules of a body's class or, if there are none, the shape errors. */
async function errorsOf(body: object, rules: ValidatorOptions): Promise<ValidationError[]> {
  const errors = await validate(body, rules);
  return errors.length > 0 ? errors : shapeErrors(body);
}

/** Maximum number of faults listed in a response. */
const MAX_FAULTS = 100;

class BodyPipe extends ValidationPipe {
  protected override validate(body: object, rules: ValidatorOptions): Promise<ValidationError[]> {
    assertFewUnknown(body);
    return errorsOf(body, rules);
  }
}

/**
 * Rejects a body with too many unknown members early. The validator takes a few microseconds per error, and a body can have tens of thousands of unknown
 * members.
 */
function assertFewUnknown(body: object): void {
  const errors: Fault[] = [];
  for (const pointer of unknownMembers(body)) {
    errors.push({ pointer, detail: UNKNOWN });
    if (errors.length === MAX_FAULTS) break;
  }
  if (errors.length < MAX_FAULTS) return;
  throw new Problem('malformed', 'request.invalid', `${errors[0]?.pointer}: ${UNKNOWN}.`, { errors });
}

/** validationPipe validates bodies, queries and parameters against their class. The error has a pointer to each fault. */
export function validationPipe(): ValidationPipe {
  return new BodyPipe({
    transform: true,
    whitelist: true,
    forbidNonWhitelisted: true,
    forbidUnknownValues: true,
    validationError: { target: false },
    exceptionFactory: (errors) => problemOf(errors, ''),
  });
}

/**
 * checkedBody validates a part of a body whose class is known only at runtime.
 * @param at pointer to the part
 */
export async function checkedBody<Body extends object>(
  type: new () => Body,
  given: unknown,
  at: string,
): Promise<Body> {
  const body = plainToInstance(type, given);
  const errors = await errorsOf(body, RULES);
  if (errors.length > 0) throw problemOf(errors, at);
  return body;
}

/** faultsOfBody returns the faults in a part of a body. Does not throw, because other parts may be valid. */
export async function faultsOfBody(type: new () => object, given: unknown, at: string): Promise<Fault[]> {
  return (await errorsOf(plainToInstance(type, given), RULES)).flatMap((error) => faultsOf(error, at));
}

function problemOf(errors: readonly ValidationError[], at: string): Problem {
  const faults = errors.flatMap((error) => faultsOf(error, at));
  const first = faults[0];
  const detail = first === undefined ? 'The request is invalid.' : `${first.pointer}: ${first.detail}.`;
  return new Problem('malformed', 'request.invalid', detail, { errors: faults.slice(0, MAX_FAULTS) });
}

function faultsOf(error: ValidationError, parent: string): Fault[] {
  const pointer = `${parent}/${pointerStep(error.property)}`;
  const detail = detailOf(error);
  const own = detail === undefined ? [] : [{ pointer, detail }];
  return [...own, ...(error.children ?? []).flatMap((child) => faultsOf(child, pointer))];
}

/**
 * Returns the message of the first violated rule, so that a wrong type is reported before a wrong length. class-validator lists the rules of a field from
 * last to first.
 */
function detailOf({ value, constraints = {} }: ValidationError): string | undefined {
  const [rule, text] = Object.entries(constraints).at(-1) ?? [];
  if (rule === 'whitelistValidation') return UNKNOWN;
  return rule === undefined || rule === SHAPE || value !== undefined ? text : MISSING;
}
