import { type DescEnum, type DescExtension, type DescFile, type DescMessage, type DescService, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

/** Descriptors of everything that is served, as reflection hands them out. */
export interface DescriptorIndex {
  /** Full names, sorted. */
  readonly serviceNames: readonly string[];
  /** Each answers with serialized `FileDescriptorProto`s: the file asked for, then all that it imports. */
  readonly byFilename: (name: string) => readonly Uint8Array[] | undefined;
  /** Of a service, method, message, enum or extension, by its full name. */
  readonly bySymbol: (name: string) => readonly Uint8Array[] | undefined;
  readonly byExtension: (extendee: string, number: number) => readonly Uint8Array[] | undefined;
  /** Field numbers of the known extensions of a message; undefined for a message that is not known. */
  readonly extensionNumbers: (extendee: string) => readonly number[] | undefined;
}

/** The file itself, then everything it imports, each once. */
const withImports = (file: DescFile, found: Set<DescFile> = new Set()): Set<DescFile> => {
  found.add(file);
  for (const imported of file.dependencies) if (!found.has(imported)) withImports(imported, found);
  return found;
};

/** Everything with a full name in a file or message. */
const typesIn = (scope: DescFile | DescMessage): (DescMessage | DescEnum | DescExtension)[] => [
  ...(scope.kind === "file" ? scope.messages : scope.nestedMessages).flatMap((message) => [message, ...typesIn(message)]),
  ...(scope.kind === "file" ? scope.enums : scope.nestedEnums),
  ...(scope.kind === "file" ? scope.extensions : scope.nestedExtensions),
];

const symbolsIn = (file: DescFile): string[] => [
  ...typesIn(file).map((type) => type.typeName),
  ...file.services.flatMap((service) => [service.typeName, ...service.methods.map((method) => `${service.typeName}.${method.name}`)]),
];

/** `more`: files that no service imports. */
export const createDescriptorIndex = (services: readonly DescService[], more: readonly DescFile[]): DescriptorIndex => {
  const files = new Set<DescFile>();
  for (const file of [...services.map((service) => service.file), ...more]) withImports(file, files);
  const all = [...files];
  const serialized = new Map(all.map((file) => [file, toBinary(FileDescriptorProtoSchema, file.proto)]));
  const answer = (file: DescFile | undefined): readonly Uint8Array[] | undefined =>
    file && [...withImports(file)].flatMap((each) => serialized.get(each) ?? []);

  const names = new Map(all.map((file) => [file.proto.name, file]));
  const symbols = new Map(all.flatMap((file) => symbolsIn(file).map((symbol) => [symbol, file] as const)));
  const types = all.flatMap(typesIn);
  const extensions = types.filter((type) => type.kind === "extension");
  const messages = new Set(types.filter((type) => type.kind === "message").map((type) => type.typeName));
  return {
    serviceNames: services.map((service) => service.typeName).sort(),
    byFilename: (name) => answer(names.get(name)),
    bySymbol: (name) => answer(symbols.get(name)),
    byExtension: (extendee, number) =>
      answer(extensions.find((extension) => extension.extendee.typeName === extendee && extension.number === number)?.file),
    extensionNumbers: (extendee) =>
      messages.has(extendee)
        ? extensions.filter((extension) => extension.extendee.typeName === extendee).map((extension) => extension.number)
        : undefined,
  };
};
