# Builds the Debian packages build/deb/*.deb from a copy of the tree. With BUILT=yes, which the
# tests use, the copy also has the compiled files.
VERSION = $(shell sed -n 's/.*CADRE_VERSION "\(.*\)"/\1/p' core/base/version.h)
deb:
	@tools/setup --deb
	rm -rf build/deb && mkdir -p build/deb/src
	git ls-files -z --cached | xargs -0 tar cf - | tar xf - -C build/deb/src
	cp -r dist/debian build/deb/src/debian
	$(if $(BUILT),mkdir build/deb/src/build && cd build && cp -a obj *.gen.* *.stamp opgen sqlgen \
		libcadre.a cadre cadre-guest deb/src/build)
	printf 'cadre (%s) unstable; urgency=medium\n\n  * See the log of the repository.\n\n -- %s  %s\n' '$(VERSION)' \
		"$$(sed -n 's/^Maintainer: //p' dist/debian/control)" "$$(git log -1 --format=%cD)" \
		> build/deb/src/debian/changelog
	cd build/deb/src && env -u MAKEFLAGS -u MAKELEVEL $(if $(BUILT),DPKG_DEB_COMPRESSOR_LEVEL=1) DEB_BUILD_OPTIONS="noautodbgsym parallel=$$(nproc)" \
		dpkg-buildpackage $(if $(BUILT),-nc) -b -d -us -uc > ../log 2>&1 || { tail -40 ../log; exit 1; }
	rm -rf build/deb/src
	@ls build/deb/*.deb
check-deb check-bare: ; @tests/$(@:check-%=%)/run
.PHONY: deb check-deb check-bare
