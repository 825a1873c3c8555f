import { ApiHeader, type ApiHeaderOptions } from '@nestjs/swagger';

/** Describes a header in the API document of each handler that has a parameter from it. */
export function describesHeader(header: ApiHeaderOptions): ParameterDecorator {
  return (target, handler) => {
    if (handler === undefined) throw new Error('only handlers take parameters from headers');
    ApiHeader(header)(target, handler, Object.getOwnPropertyDescriptor(target, handler) ?? {});
  };
}
