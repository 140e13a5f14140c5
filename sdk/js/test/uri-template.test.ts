import assert from "node:assert/strict";
import { test } from "node:test";
import { UriTemplate } from "../src/offer/uri-template.js";

const CASES: [template: string, uri: string, variables: Record<string, string> | undefined][] = [
  ["test://template/{id}/data", "test://template/123/data", { id: "123" }],
  ["test://template/{id}/data", "test://template/1/2/data", undefined],
  ["test://template/{id}/data", "test://template//data", undefined],
  ["test://template/{id}/data", "test://template/123/data/more", undefined],
  ["a:{x}", "a:caf%C3%A9%20%2F", { x: "café /" }],
  ["a:{x}", "a:100%", { x: "100%" }],
  ["a:{x}", "a:1,2", { x: "1,2" }],
  ["a:{x,y}", "a:1,2", { x: "1", y: "2" }],
  ["a:{x}-{y}", "a:1-2-3", { x: "1-2", y: "3" }],
  ["file:///{+path}", "file:///a/b?c#d", { path: "a/b?c#d" }],
  ["a:b{#part}", "a:b#c/d", { part: "c/d" }],
  ["a:b{.ext}", "a:b.txt", { ext: "txt" }],
  ["a:b{/x,y}", "a:b/1/2", { x: "1", y: "2" }],
  ["a:b{?q,page}", "a:b?page=2&q=x%20y&other=1", { q: "x y", page: "2" }],
  ["a:b{?q}", "a:b", {}],
  ["a.b:(x)[y]*{z}", "a.b:(x)[y]*1", { z: "1" }],
  ["a.b:{z}", "a_b:1", undefined],
  ["a:b", "a:b", {}],
];

for (const [template, uri, expected] of CASES) {
  test(`${template} and ${uri}`, () => assert.deepEqual(new UriTemplate(template).match(uri), expected));
}

test("templates that cannot be read backwards are refused", () => {
  for (const template of ["a:{x*}", "a:{x:3}", "a:{;x}", "a:?b=1{&x}", "a:{|x}", "a:{}", "a:{x", "a:x}", "a:{x,}"]) {
    assert.throws(() => new UriTemplate(template), TypeError, template);
  }
});

test("the variables are named in their order", () => {
  assert.deepEqual(new UriTemplate("a:{x}/{y,z}{?q}").variables, ["x", "y", "z", "q"]);
});

test("a URI that is longer than any may be matches nothing, at once", () => {
  const template = new UriTemplate("a:{+x}/{+y}/{+z}!");
  assert.equal(template.match(`a:${"/".repeat(4_000_000)}`), undefined);
});
