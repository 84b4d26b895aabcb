/** A document as an engine sees it: fields of unknown type. */
export type Fields = Record<string, unknown>;

type ReadonlyFields = Readonly<Fields>;

const list = (field: string, value: unknown): readonly unknown[] => {
  if (value === undefined) return [];
  if (Array.isArray(value)) return value;
  throw new TypeError(`${field} is not a list`);
};

const number = (field: string, value: unknown): number => {
  if (typeof value === "number") return value;
  throw new TypeError(`${field} is not a number`);
};

const each = (field: string, operand: unknown): readonly unknown[] => list(`$each of ${field}`, (operand as { $each?: unknown }).$each);

const remains = (field: string, operand: unknown): ((item: unknown) => boolean) => {
  const { $in: scalars, id } = operand as { $in?: unknown; id?: { $in?: unknown } };
  const gone = new Set(list(`$in of ${field}`, scalars ?? id?.$in));
  return id === undefined ? (item) => !gone.has(item) : (item) => !gone.has((item as { id?: unknown } | null)?.id);
};

const operators: Readonly<Record<string, (document: Fields, field: string, operand: unknown, inserting: boolean) => void>> = {
  $set(document, field, operand) {
    document[field] = operand;
  },
  $unset(document, field) {
    delete document[field];
  },
  $inc(document, field, operand) {
    document[field] = number(field, document[field] ?? 0) + number(field, operand);
  },
  $max(document, field, operand) {
    document[field] = Math.max(number(field, document[field] ?? operand), number(field, operand));
  },
  $push(document, field, operand) {
    document[field] = [...list(field, document[field]), ...each(field, operand)];
  },
  $addToSet(document, field, operand) {
    const present = list(field, document[field]);
    document[field] = [...present, ...new Set(each(field, operand).filter((item) => !present.includes(item)))];
  },
  $pull(document, field, operand) {
    if (document[field] !== undefined) document[field] = list(field, document[field]).filter(remains(field, operand));
  },
  $setOnInsert(document, field, operand, inserting) {
    if (inserting) document[field] = operand;
  },
};

/**
 * The document after an update of the port, as MongoDB would leave it; `document` itself is not changed.
 * Throws a `TypeError` for what MongoDB refuses: an unknown operator, a field named by two operators, a changed id,
 * arithmetic on text, list operations on what is no list.
 */
export const applyUpdate = (document: Fields, update: ReadonlyFields, inserting: boolean): Fields => {
  const next = { ...document };
  const touched = new Set<string>();
  if (Object.keys(update).length === 0) throw new TypeError("an update needs an operator");
  for (const [name, changes] of Object.entries(update)) {
    const operator = operators[name];
    if (operator === undefined) throw new TypeError(`unknown operator ${name}`);
    for (const [field, operand] of Object.entries((changes ?? {}) as ReadonlyFields)) {
      if (operand === undefined) continue;
      if (touched.has(field)) throw new TypeError(`two operators change ${field}`);
      touched.add(field);
      operator(next, field, operand, inserting);
    }
  }
  if (document._id !== undefined && next._id !== document._id) throw new TypeError("an id never changes");
  return next;
};

/** What an upsert starts from: the plain equalities of its filter. */
export const fieldsOfFilter = (filter: ReadonlyFields): Fields =>
  Object.fromEntries(
    Object.entries(filter).flatMap(([field, value]) =>
      field !== "$or" && (typeof value !== "object" || value instanceof Date) ? [[field, value]] : [],
    ),
  );
