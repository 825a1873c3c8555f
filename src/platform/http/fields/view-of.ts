type Data<View> = { [Key in keyof View as View[Key] extends (...args: never[]) => unknown ? never : Key]: View[Key] };
/** Rest holds the properties of View that Row lacks or has with an incompatible type. */
type Rest<View, Row> = {
  [Key in keyof View as Key extends keyof Row ? (Row[Key] extends View[Key] ? never : Key) : Key]: View[Key];
};
type Given<View, Row> = Rest<Data<View>, Row> & Partial<Data<View>>;
type Present<Row> = { [Key in keyof Row]: null extends Row[Key] ? Exclude<Row[Key], null> | undefined : Row[Key] };

const names = new Map<new () => object, readonly string[]>();

/**
 * viewOf returns the client's view of a row: the properties that the class declares, taken from `given` or otherwise from the row. Undeclared properties are
 * never exposed.
 */
export function viewOf<View extends object, Row extends object>(
  type: new () => View,
  row: Row,
  ...[given]: keyof Rest<Data<View>, Row> extends never ? [Given<View, Row>?] : [Given<View, Row>]
): View {
  const view = new type();
  for (const name of namesOf(type, view)) {
    const from = given !== undefined && name in given ? given : row;
    (view as Record<string, unknown>)[name] = (from as Record<string, unknown>)[name];
  }
  return view;
}

/** present returns the row with null values replaced by undefined, for views with optional properties. */
export function present<Row extends object>(row: Row): Present<Row> {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value ?? undefined])) as Present<Row>;
}

function namesOf(type: new () => object, view: object): readonly string[] {
  const known = names.get(type) ?? Object.keys(view);
  names.set(type, known);
  return known;
}
