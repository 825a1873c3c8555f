import { ValidationPipe } from '@nestjs/common';
import type { ValidationError } from 'class-validator';
import { type Fault, Problem } from './problem.js';

/** Bodies, queries and parameters are what their class says, or the call is refused with a pointer to each fault. */
export function validationPipe(): ValidationPipe {
  return new ValidationPipe({
    transform: true,
    whitelist: true,
    forbidNonWhitelisted: true,
    forbidUnknownValues: true,
    stopAtFirstError: true,
    validationError: { target: false, value: false },
    exceptionFactory: (errors) => {
      const faults = errors.flatMap((error) => faultsOf(error, ''));
      const first = faults[0];
      const detail = first === undefined ? 'The request is not valid.' : `${first.pointer}: ${first.detail}.`;
      return new Problem('malformed', 'request.invalid', detail, { errors: faults });
    },
  });
}

function faultsOf(error: ValidationError, parent: string): Fault[] {
  const pointer = `${parent}/${error.property.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  const own = Object.entries(error.constraints ?? {}).map(([rule, text]) => ({
    pointer,
    detail: rule === 'whitelistValidation' ? 'unknown field' : text,
  }));
  return [...own, ...(error.children ?? []).flatMap((child) => faultsOf(child, pointer))];
}
