import { DefaultNamingStrategy } from 'typeorm';

/** Columns are snake_case, as SQL people expect; tables are named by their entity. */
export class SnakeNaming extends DefaultNamingStrategy {
  override columnName(propertyName: string, customName: string | undefined, embeddedPrefixes: string[]): string {
    return snake([...embeddedPrefixes, customName ?? propertyName].join('_'));
  }

  override joinColumnName(relationName: string, referencedColumnName: string): string {
    return snake(`${relationName}_${referencedColumnName}`);
  }
}

function snake(text: string): string {
  return text.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase();
}
