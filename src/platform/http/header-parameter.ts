import { ApiHeader, type ApiHeaderOptions } from '@nestjs/swagger';

/** describesHeader returns a parameter decorator that documents the header in OpenAPI for the decorated handler. */
export function describesHeader(header: ApiHeaderOptions): ParameterDecorator {
  return (target, handler) => {
    if (handler === undefined) throw new Error('header parameters can be declared only on handler methods');
    ApiHeader(header)(target, handler, Object.getOwnPropertyDescriptor(target, handler) ?? {});
  };
}
