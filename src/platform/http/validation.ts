import { ValidationPipe } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, validate, type ValidationError, type ValidatorOptions } from 'class-validator';
import { MISSING, SHAPE, shapeErrors } from './body-shape.js';
import { type Fault, Problem } from '../errors/problem.js';
import { pointerStep } from '../json/json-pointer.js';

const RULES = { whitelist: true, forbidNonWhitelisted: true };

rememberRulesOfClasses();

/** Has class-validator keep the rules of a class: it looks through those of all classes for every object, and they never change. */
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

/** Answers the errors by the rules of a body's class and, when there are none, by its shape. */
async function errorsOf(body: object, rules: ValidatorOptions): Promise<ValidationError[]> {
  const errors = await validate(body, rules);
  return errors.length > 0 ? errors : shapeErrors(body);
}

class BodyPipe extends ValidationPipe {
  protected override validate(body: object, rules: ValidatorOptions): Promise<ValidationError[]> {
    return errorsOf(body, rules);
  }
}

/** Bodies, queries and parameters are what their class says, or the call is refused with a pointer to each fault. */
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

/** The same for a part of a body whose class is known only when it is read. `at` is where it stands. */
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

/** Answers the faults of a part of a body, where nothing is thrown because other parts may be right. */
export async function faultsOfBody(type: new () => object, given: unknown, at: string): Promise<Fault[]> {
  return (await errorsOf(plainToInstance(type, given), RULES)).flatMap((error) => faultsOf(error, at));
}

function problemOf(errors: readonly ValidationError[], at: string): Problem {
  const faults = errors.flatMap((error) => faultsOf(error, at));
  const first = faults[0];
  const detail = first === undefined ? 'The request is not valid.' : `${first.pointer}: ${first.detail}.`;
  return new Problem('malformed', 'request.invalid', detail, { errors: faults });
}

function faultsOf(error: ValidationError, parent: string): Fault[] {
  const pointer = `${parent}/${pointerStep(error.property)}`;
  const detail = detailOf(error);
  const own = detail === undefined ? [] : [{ pointer, detail }];
  return [...own, ...(error.children ?? []).flatMap((child) => faultsOf(child, pointer))];
}

/** Answers what a value must be before how long it may be: the rules of a field are read from the last to the first. */
function detailOf({ value, constraints = {} }: ValidationError): string | undefined {
  const [rule, text] = Object.entries(constraints).at(-1) ?? [];
  if (rule === 'whitelistValidation') return 'unknown field';
  return rule === undefined || rule === SHAPE || value !== undefined ? text : MISSING;
}
