import { ApiHeader, type ApiHeaderOptions } from '@nestjs/swagger';

/** describesHeader documents a header in OpenAPI for each handler that has a parameter from the header. */
export function describesHeader(header: ApiHeaderOptions): ParameterDecorator {
  return (target, handler) => {
    if (handler === undefined) throw new Error('only handlers take parameters from headers');
    ApiHeader(header)(target, handler, Object.getOwnPropertyDescriptor(target, handler) ?? {});
  };
}
